package server

import "zkbridge/zkproto"

// dispatch finds the operation of a request. Each has a file, op_*.go.
func (d *desk) dispatch(body []byte) error {
	switch d.op {
	case zkproto.OpPing:
		return d.ping()
	case zkproto.OpGetData:
		return d.getData(body)
	case zkproto.OpExists:
		return d.exists(body)
	case zkproto.OpGetChildren:
		return d.getChildren(body)
	case zkproto.OpGetChildren2:
		return d.getChildren2(body)
	case zkproto.OpCreate, zkproto.OpCreate2, zkproto.OpCreateContainer:
		return d.create(body)
	case zkproto.OpCreateTTL:
		return d.createTTL(body)
	case zkproto.OpDelete:
		return d.delete(body)
	case zkproto.OpSetData:
		return d.setData(body)
	case zkproto.OpGetACL:
		return d.getACL(body)
	case zkproto.OpSetACL:
		return d.setACL(body)
	case zkproto.OpSync:
		return d.sync(body)
	case zkproto.OpMulti:
		return d.multiWrite(body)
	case zkproto.OpAuth:
		return d.auth(body)
	case zkproto.OpSASL:
		return d.sasl(body)
	case zkproto.OpSetWatches, zkproto.OpSetWatches2:
		return d.setWatches(body)
	case zkproto.OpAddWatch:
		return d.addWatch(body)
	case zkproto.OpCheckWatches:
		return d.checkWatches(body)
	case zkproto.OpRemoveWatches:
		return d.removeWatches(body)
	case zkproto.OpGetEphemerals:
		return d.getEphemerals(body)
	case zkproto.OpGetAllChildrenNumber:
		return d.getAllChildrenNumber(body)
	case zkproto.OpWhoAmI:
		return d.whoAmI()
	case zkproto.OpReconfig:
		return d.reconfig(body)
	case zkproto.OpCloseSession:
		return d.closeSession()
	case zkproto.OpMultiRead:
		return d.multiRead(body)
	case zkproto.OpDeleteContainer:
		return d.unserved()
	default:
		return d.unknown()
	}
}
