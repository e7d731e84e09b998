package wire

import "zkbridge/zkproto"

// The requests that scripts send most.

func open() []zkproto.ACL { return zkproto.WorldAnyone() }

// Create sends create with data that is the last letter of the path.
func (c *Conn) Create(path string, flags zkproto.CreateFlags) Reply {
	return c.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: path, Data: []byte("x"), ACL: open(), Flags: flags})
}

// Create2 sends create2.
func (c *Conn) Create2(path string, flags zkproto.CreateFlags) Reply {
	return c.Do(zkproto.OpCreate2, &zkproto.CreateRequest{Path: path, Data: []byte("x"), ACL: open(), Flags: flags})
}

// CreateACL sends create with a list of ACLs.
func (c *Conn) CreateACL(path string, acl []zkproto.ACL) Reply {
	return c.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: path, Data: []byte("x"), ACL: acl})
}

// Delete sends delete.
func (c *Conn) Delete(path string, version int32) Reply {
	return c.Do(zkproto.OpDelete, &zkproto.DeleteRequest{Path: path, Version: version})
}

// Exists sends exists.
func (c *Conn) Exists(path string, watch bool) Reply {
	return c.Do(zkproto.OpExists, &zkproto.ExistsRequest{Path: path, Watch: watch})
}

// GetData sends getData.
func (c *Conn) GetData(path string, watch bool) Reply {
	return c.Do(zkproto.OpGetData, &zkproto.GetDataRequest{Path: path, Watch: watch})
}

// GetChildren sends getChildren.
func (c *Conn) GetChildren(path string, watch bool) Reply {
	return c.Do(zkproto.OpGetChildren, &zkproto.GetChildrenRequest{Path: path, Watch: watch})
}

// GetChildren2 sends getChildren2.
func (c *Conn) GetChildren2(path string, watch bool) Reply {
	return c.Do(zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: path, Watch: watch})
}

// SetData sends setData.
func (c *Conn) SetData(path, data string, version int32) Reply {
	return c.Do(zkproto.OpSetData, &zkproto.SetDataRequest{Path: path, Data: []byte(data), Version: version})
}

// GetACL sends getACL.
func (c *Conn) GetACL(path string) Reply {
	return c.Do(zkproto.OpGetACL, &zkproto.GetACLRequest{Path: path})
}

// SetACL sends setACL.
func (c *Conn) SetACL(path string, acl []zkproto.ACL, version int32) Reply {
	return c.Do(zkproto.OpSetACL, &zkproto.SetACLRequest{Path: path, ACL: acl, Version: version})
}

// Sync sends sync.
func (c *Conn) Sync(path string) Reply {
	return c.Do(zkproto.OpSync, &zkproto.SyncRequest{Path: path})
}

// AddWatch sends addWatch.
func (c *Conn) AddWatch(path string, mode zkproto.AddWatchMode) Reply {
	return c.Do(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: path, Mode: mode})
}

// CheckWatches sends checkWatches.
func (c *Conn) CheckWatches(path string, kind zkproto.WatcherType) Reply {
	return c.Do(zkproto.OpCheckWatches, &zkproto.CheckWatchesRequest{Path: path, Type: kind})
}

// RemoveWatches sends removeWatches.
func (c *Conn) RemoveWatches(path string, kind zkproto.WatcherType) Reply {
	return c.Do(zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: path, Type: kind})
}

// Multi sends multi.
func (c *Conn) Multi(ops ...zkproto.MultiOp) Reply {
	return c.Do(zkproto.OpMulti, &zkproto.MultiRequest{Ops: ops})
}

// SetWatches sends setWatches with xid -8. Lists that are nil are sent empty.
func (c *Conn) SetWatches(relative int64, data, exist, child []string) Reply {
	return c.DoXid(zkproto.XidSetWatches, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{
		RelativeZxid: relative, Data: list(data), Exist: list(exist), Child: list(child),
	})
}

func list(paths []string) []string {
	if paths == nil {
		return []string{}
	}
	return paths
}

func opCreate(path string, flags zkproto.CreateFlags) zkproto.MultiOp {
	return zkproto.MultiOp{Op: zkproto.OpCreate, Path: path, Data: []byte("x"), ACL: open(), Flags: flags}
}

func opCreate2(path string, flags zkproto.CreateFlags) zkproto.MultiOp {
	return zkproto.MultiOp{Op: zkproto.OpCreate2, Path: path, Data: []byte("x"), ACL: open(), Flags: flags}
}

func opDelete(path string, version int32) zkproto.MultiOp {
	return zkproto.MultiOp{Op: zkproto.OpDelete, Path: path, Version: version}
}

func opSetData(path, data string, version int32) zkproto.MultiOp {
	return zkproto.MultiOp{Op: zkproto.OpSetData, Path: path, Data: []byte(data), Version: version}
}

func opCheck(path string, version int32) zkproto.MultiOp {
	return zkproto.MultiOp{Op: zkproto.OpCheck, Path: path, Version: version}
}
