package zkproto

import "fmt"

// multiHeaderSize is the length of the header in front of every part of a
// multi: type, done, error.
const multiHeaderSize = 9

// ErrNullACL is wrapped by the error of a multi with a null list of ACLs. It is
// the one malformed multi for which ZooKeeper spends no zxid, because it fails
// before it asks for one.
var ErrNullACL = fmt.Errorf("%w: null acl", ErrMalformed)

// MultiOp is one operation of a multi or multiRead. Op says which, and which of
// the other fields it uses:
//
//	OpCreate, OpCreate2, OpCreateContainer   Path, Data, ACL, Flags
//	OpCreateTTL                              Path, Data, ACL, Flags, TTL
//	OpDelete, OpCheck                        Path, Version
//	OpSetData                                Path, Data, Version
//	OpGetChildren, OpGetData (multiRead)     Path, Watch
type MultiOp struct {
	Op      OpCode
	Path    string
	Data    []byte
	ACL     []ACL
	Flags   CreateFlags
	TTL     int64 // ms
	Version int32
	Watch   bool // ignored by servers
}

// MultiRequest is several writes and checks that happen together or not at all
// (14).
type MultiRequest struct {
	Ops []MultiOp
}

// Decode reads a multi request. As in ZooKeeper (MultiOperationRecord, Op) the
// whole request is malformed for an operation that cannot be part of a multi, a
// read, a null string, and for creates other than createTTL a null ACL
// ([ErrNullACL]) and flags that are illegal or those of a TTL node.
func (m *MultiRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Ops = r.multi(OpMulti)
	return r.done("multi")
}

// AppendTo appends the request.
func (m *MultiRequest) AppendTo(dst []byte) []byte { return appendMulti(dst, m.Ops) }

// MultiReadRequest is several reads in one request (22).
type MultiReadRequest struct {
	Ops []MultiOp
}

// Decode reads a multiRead request. One that mixes reads and writes is
// malformed. One of writes alone is not, as in ZooKeeper: see [MultiReadRequest.Writes].
func (m *MultiReadRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Ops = r.multi(OpMultiRead)
	return r.done("multiRead")
}

// Writes reports whether the operations are writes, which a server refuses when
// it comes to the first of them.
func (m *MultiReadRequest) Writes() bool { return len(m.Ops) > 0 && !m.Ops[0].read() }

func (o *MultiOp) read() bool { return o.Op == OpGetChildren || o.Op == OpGetData }

// AppendTo appends the request.
func (m *MultiReadRequest) AppendTo(dst []byte) []byte { return appendMulti(dst, m.Ops) }

func (r *reader) multi(kind OpCode) []MultiOp {
	ops := []MultiOp{}
	for {
		op, done, _ := r.multiHeader()
		if done || r.err != nil {
			if kind == OpMulti {
				r.writable(ops)
			}
			return ops
		}
		o := MultiOp{Op: op}
		switch op {
		case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
			o.Path, o.Data, o.ACL = r.nullable(), r.buffer(), r.acl()
			o.Flags = CreateFlags(r.int32())
			if op == OpCreateTTL {
				o.TTL = r.int64()
			}
			r.creatable(&o)
		case OpDelete, OpCheck:
			o.Path, o.Version = r.nullable(), r.int32()
		case OpSetData:
			o.Path, o.Data, o.Version = r.nullable(), r.buffer(), r.int32()
		case OpGetChildren, OpGetData:
			o.Path, o.Watch = r.nullable(), r.bool()
		default:
			r.fail("%v cannot be part of a %v", op, kind)
		}
		switch {
		case r.err != nil:
		case len(ops) > 0 && o.read() != ops[0].read():
			r.fail("%v beside %v", op, ops[0].Op)
		}
		if r.err != nil {
			return nil
		}
		ops = append(ops, o)
	}
}

// writable refuses what ZooKeeper finds only when it has read all operations.
func (r *reader) writable(ops []MultiOp) {
	for i := range ops {
		switch o := &ops[i]; {
		case r.err != nil:
			return
		case o.read():
			r.fail("%v cannot be part of a %v", o.Op, OpMulti)
		case o.Path == Null:
			r.fail("null path in %v", o.Op)
		}
	}
}

// creatable refuses the creates for which ZooKeeper cannot make an Op, in its
// order.
func (r *reader) creatable(o *MultiOp) {
	switch {
	case r.err != nil, o.Op == OpCreateTTL: // its flags are looked at when it is carried out
	case !o.Flags.Valid():
		r.fail("create flags %d", o.Flags)
	case o.ACL == nil:
		r.err = ErrNullACL
	case o.Flags.TTL():
		r.fail("create flags %d in %v", o.Flags, o.Op)
	}
}

func appendMulti(dst []byte, ops []MultiOp) []byte {
	for i := range ops {
		o := &ops[i]
		dst = appendMultiHeader(dst, o.Op, false, -1)
		dst = appendString(dst, o.Path)
		switch o.Op {
		case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
			dst = appendBuffer(dst, o.Data)
			dst = appendACL(dst, o.ACL)
			dst = appendInt32(dst, int32(o.Flags))
			if o.Op == OpCreateTTL {
				dst = appendInt64(dst, o.TTL)
			}
		case OpSetData:
			dst = appendBuffer(dst, o.Data)
			dst = appendInt32(dst, o.Version)
		case OpGetChildren, OpGetData:
			dst = appendBool(dst, o.Watch)
		default:
			dst = appendInt32(dst, o.Version)
		}
	}
	return appendMultiHeader(dst, OpError, true, -1)
}

// MultiResult is the outcome of one operation of a multi or multiRead. Op is
// the type in the result, which need not be that of the operation:
//
//	OpCreate                       Path
//	OpCreate2 (every other create) Path, Stat
//	OpDelete, OpCheck              nothing
//	OpSetData                      Stat
//	OpGetChildren                  Children
//	OpGetData                      Data, Stat
//	OpError                        Err
//
// In a multi that failed every result is OpError: OK in front of the operation
// that failed, its own code there, RuntimeInconsistency behind it.
type MultiResult struct {
	Op       OpCode
	Err      Code
	Path     string
	Data     []byte
	Stat     Stat
	Children []string
}

// MultiResponse answers multi and multiRead, also a multi that failed: the code
// in the reply header is OK then too.
type MultiResponse struct {
	Results []MultiResult
}

// Decode reads the response.
func (m *MultiResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Results = r.results()
	return r.done("multi response")
}

func (r *reader) results() []MultiResult {
	list := []MultiResult{}
	for {
		op, done, _ := r.multiHeader()
		if done || r.err != nil {
			return list
		}
		o := MultiResult{Op: op}
		switch op {
		case OpCreate:
			o.Path = r.string()
		case OpCreate2, OpCreateContainer, OpCreateTTL:
			o.Path = r.string()
			r.stat(&o.Stat)
		case OpDelete, OpCheck:
		case OpSetData:
			r.stat(&o.Stat)
		case OpGetChildren:
			o.Children = r.strings()
		case OpGetData:
			o.Data = r.buffer()
			r.stat(&o.Stat)
		case OpError:
			o.Err = Code(r.int32())
		default:
			r.fail("result type %v", op)
		}
		if r.err != nil {
			return nil
		}
		list = append(list, o)
	}
}

// AppendTo appends the response.
func (m *MultiResponse) AppendTo(dst []byte) []byte {
	for i := range m.Results {
		o := &m.Results[i]
		dst = appendMultiHeader(dst, o.Op, false, o.Err)
		switch o.Op {
		case OpCreate:
			dst = appendString(dst, o.Path)
		case OpCreate2, OpCreateContainer, OpCreateTTL:
			dst = appendString(dst, o.Path)
			dst = o.Stat.AppendTo(dst)
		case OpSetData:
			dst = o.Stat.AppendTo(dst)
		case OpGetChildren:
			dst = AppendStrings(dst, o.Children)
		case OpGetData:
			dst = appendBuffer(dst, o.Data)
			dst = o.Stat.AppendTo(dst)
		case OpError:
			dst = appendInt32(dst, int32(o.Err))
		}
	}
	return appendMultiHeader(dst, OpError, true, -1)
}

func (r *reader) multiHeader() (op OpCode, done bool, err Code) {
	b := r.take(multiHeaderSize)
	if b == nil {
		return 0, false, 0
	}
	h := reader{src: b}
	op = OpCode(h.int32())
	done = h.bool()
	return op, done, Code(h.int32())
}

func appendMultiHeader(dst []byte, op OpCode, done bool, err Code) []byte {
	dst = appendInt32(dst, int32(op))
	dst = appendBool(dst, done)
	return appendInt32(dst, int32(err))
}
