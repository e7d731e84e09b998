package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"zkbridge/zkproto"
)

// response makes the record in which an operation is answered, nil where the
// reply is the header alone.
func response(op zkproto.OpCode) zkproto.Message {
	switch op {
	case zkproto.OpCreate:
		return &zkproto.CreateResponse{}
	case zkproto.OpCreate2, zkproto.OpCreateContainer, zkproto.OpCreateTTL:
		return &zkproto.Create2Response{}
	case zkproto.OpExists:
		return &zkproto.ExistsResponse{}
	case zkproto.OpGetData:
		return &zkproto.GetDataResponse{}
	case zkproto.OpSetData:
		return &zkproto.SetDataResponse{}
	case zkproto.OpGetACL:
		return &zkproto.GetACLResponse{}
	case zkproto.OpSetACL:
		return &zkproto.SetACLResponse{}
	case zkproto.OpGetChildren:
		return &zkproto.GetChildrenResponse{}
	case zkproto.OpGetChildren2:
		return &zkproto.GetChildren2Response{}
	case zkproto.OpSync:
		return &zkproto.SyncResponse{}
	case zkproto.OpMulti, zkproto.OpMultiRead:
		return &zkproto.MultiResponse{}
	case zkproto.OpReconfig:
		return &zkproto.ReconfigResponse{}
	case zkproto.OpSASL:
		return &zkproto.SASLResponse{}
	case zkproto.OpGetEphemerals:
		return &zkproto.GetEphemeralsResponse{}
	case zkproto.OpGetAllChildrenNumber:
		return &zkproto.GetAllChildrenNumberResponse{}
	case zkproto.OpAddWatch:
		return &zkproto.AddWatchResponse{}
	case zkproto.OpWhoAmI:
		return &zkproto.WhoAmIResponse{}
	}
	return nil
}

func describeRequest(xid int32, op zkproto.OpCode, m zkproto.Message) string {
	head := fmt.Sprintf("%d %v", xid, op)
	if m == nil {
		return head
	}
	return head + " " + describeArguments(m)
}

func describeArguments(m zkproto.Message) string {
	switch m := m.(type) {
	case *zkproto.CreateRequest:
		return fmt.Sprintf("%q data=%s flags=%d%s", m.Path, data(m.Data), m.Flags, acl(m.ACL))
	case *zkproto.CreateTTLRequest:
		return fmt.Sprintf("%q data=%s flags=%d ttl=%d%s", m.Path, data(m.Data), m.Flags, m.TTL, acl(m.ACL))
	case *zkproto.DeleteRequest:
		return fmt.Sprintf("%q version=%d", m.Path, m.Version)
	case *zkproto.CheckRequest:
		return fmt.Sprintf("%q version=%d", m.Path, m.Version)
	case *zkproto.ExistsRequest:
		return fmt.Sprintf("%q%s", m.Path, watch(m.Watch))
	case *zkproto.GetDataRequest:
		return fmt.Sprintf("%q%s", m.Path, watch(m.Watch))
	case *zkproto.GetChildrenRequest:
		return fmt.Sprintf("%q%s", m.Path, watch(m.Watch))
	case *zkproto.GetChildren2Request:
		return fmt.Sprintf("%q%s", m.Path, watch(m.Watch))
	case *zkproto.SetDataRequest:
		return fmt.Sprintf("%q data=%s version=%d", m.Path, data(m.Data), m.Version)
	case *zkproto.GetACLRequest:
		return fmt.Sprintf("%q", m.Path)
	case *zkproto.SetACLRequest:
		return fmt.Sprintf("%q version=%d%s", m.Path, m.Version, acl(m.ACL))
	case *zkproto.SyncRequest:
		return fmt.Sprintf("%q", m.Path)
	case *zkproto.GetAllChildrenNumberRequest:
		return fmt.Sprintf("%q", m.Path)
	case *zkproto.GetEphemeralsRequest:
		return fmt.Sprintf("%q", m.Prefix)
	case *zkproto.CheckWatchesRequest:
		return fmt.Sprintf("%q type=%d", m.Path, m.Type)
	case *zkproto.RemoveWatchesRequest:
		return fmt.Sprintf("%q type=%d", m.Path, m.Type)
	case *zkproto.AddWatchRequest:
		return fmt.Sprintf("%q mode=%d", m.Path, m.Mode)
	case *zkproto.SetWatchesRequest:
		return "data=" + paths(m.Data) + " exist=" + paths(m.Exist) + " child=" + paths(m.Child)
	case *zkproto.SetWatches2Request:
		return "data=" + paths(m.Data) + " exist=" + paths(m.Exist) + " child=" + paths(m.Child) +
			" persistent=" + paths(m.Persistent) + " recursive=" + paths(m.PersistentRecursive)
	case *zkproto.AuthRequest:
		return fmt.Sprintf("scheme=%q auth=%s", m.Scheme, data(m.Auth))
	case *zkproto.SASLRequest:
		return "token=" + data(m.Token)
	case *zkproto.DeleteContainerRequest:
		return fmt.Sprintf("%q", m.Path)
	case *zkproto.MultiRequest:
		return ops(m.Ops)
	case *zkproto.MultiReadRequest:
		return ops(m.Ops)
	}
	return fmt.Sprintf("%T", m)
}

func ops(list []zkproto.MultiOp) string {
	parts := make([]string, len(list))
	for i, o := range list {
		switch o.Op {
		case zkproto.OpCreate, zkproto.OpCreate2, zkproto.OpCreateContainer, zkproto.OpCreateTTL:
			parts[i] = fmt.Sprintf("%v %q flags=%d%s", o.Op, o.Path, o.Flags, acl(o.ACL))
		case zkproto.OpSetData:
			parts[i] = fmt.Sprintf("%v %q data=%s version=%d", o.Op, o.Path, data(o.Data), o.Version)
		case zkproto.OpGetChildren, zkproto.OpGetData:
			parts[i] = fmt.Sprintf("%v %q", o.Op, o.Path)
		default:
			parts[i] = fmt.Sprintf("%v %q version=%d", o.Op, o.Path, o.Version)
		}
	}
	return "[" + strings.Join(parts, "; ") + "]"
}

// describe tells the record of a reply.
func (s *Stage) describe(m zkproto.Message) string {
	switch m := m.(type) {
	case *zkproto.CreateResponse:
		return fmt.Sprintf("%q", m.Path)
	case *zkproto.Create2Response:
		return fmt.Sprintf("%q %s", m.Path, s.stat(m.Stat))
	case *zkproto.ExistsResponse:
		return s.stat(m.Stat)
	case *zkproto.GetDataResponse:
		return fmt.Sprintf("%s %s", data(m.Data), s.stat(m.Stat))
	case *zkproto.SetDataResponse:
		return s.stat(m.Stat)
	case *zkproto.GetACLResponse:
		return fmt.Sprintf("%s %s", entries(m.ACL), s.stat(m.Stat))
	case *zkproto.SetACLResponse:
		return s.stat(m.Stat)
	case *zkproto.GetChildrenResponse:
		return names(m.Children)
	case *zkproto.GetChildren2Response:
		return fmt.Sprintf("%s %s", names(m.Children), s.stat(m.Stat))
	case *zkproto.SyncResponse:
		return fmt.Sprintf("%q", m.Path)
	case *zkproto.GetEphemeralsResponse:
		return names(m.Paths)
	case *zkproto.GetAllChildrenNumberResponse:
		return fmt.Sprint(m.Count)
	case *zkproto.AddWatchResponse:
		return fmt.Sprintf("err=%d", int32(m.Err))
	case *zkproto.SASLResponse:
		return "token=" + data(m.Token)
	case *zkproto.WhoAmIResponse:
		list := make([]string, len(m.Identities))
		for i, id := range m.Identities {
			list[i] = id.Scheme + ":" + id.User
		}
		return names(list)
	case *zkproto.MultiResponse:
		parts := make([]string, len(m.Results))
		for i, r := range m.Results {
			parts[i] = s.result(r)
		}
		return "[" + strings.Join(parts, "; ") + "]"
	}
	return fmt.Sprintf("%+v", m)
}

func (s *Stage) result(r zkproto.MultiResult) string {
	switch r.Op {
	case zkproto.OpCreate:
		return fmt.Sprintf("%v %q", r.Op, r.Path)
	case zkproto.OpCreate2, zkproto.OpCreateContainer, zkproto.OpCreateTTL:
		return fmt.Sprintf("%v %q %s", r.Op, r.Path, s.stat(r.Stat))
	case zkproto.OpSetData:
		return fmt.Sprintf("%v %s", r.Op, s.stat(r.Stat))
	case zkproto.OpGetData:
		return fmt.Sprintf("%v %s %s", r.Op, data(r.Data), s.stat(r.Stat))
	case zkproto.OpGetChildren:
		return fmt.Sprintf("%v %s", r.Op, names(r.Children))
	case zkproto.OpError:
		return fmt.Sprintf("error %s", outcome(r.Err))
	}
	return r.Op.String()
}

// stat tells a Stat. Two times are the same where the transactions are, so a
// time is told by its relation to the other and to now.
func (s *Stage) stat(st zkproto.Stat) string {
	return fmt.Sprintf("{c=%s m=%s p=%s times=%s v=%d cv=%d av=%d owner=%s len=%d children=%d}",
		s.zxid(st.Czxid), s.zxid(st.Mzxid), s.zxid(st.Pzxid), times(st), st.Version, st.Cversion, st.Aversion,
		s.session(st.EphemeralOwner), st.DataLength, st.NumChildren)
}

func times(st zkproto.Stat) string {
	if st.Ctime == 0 && st.Mtime == 0 {
		return "0"
	}
	name := func(ms int64) string {
		switch d := time.Since(time.UnixMilli(ms)); {
		case ms == 0:
			return "0"
		case d < -time.Second || d > 2*time.Minute:
			return fmt.Sprintf("%v ago", d)
		}
		return "now"
	}
	same := st.Czxid == st.Mzxid
	if same != (st.Ctime == st.Mtime) && (same || st.Ctime > st.Mtime) {
		return fmt.Sprintf("ctime %d and mtime %d do not fit", st.Ctime, st.Mtime)
	}
	return name(st.Ctime) + "," + name(st.Mtime)
}

// names tells a list whose order means nothing.
func names(list []string) string {
	if list == nil {
		return "null"
	}
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	if len(sorted) > 20 {
		return fmt.Sprintf("%d names from %q to %q", len(sorted), sorted[0], sorted[len(sorted)-1])
	}
	return fmt.Sprintf("%q", sorted)
}

// paths tells a list that the script sent.
func paths(list []string) string {
	if len(list) > 20 {
		return fmt.Sprintf("%d paths from %q", len(list), list[0])
	}
	return fmt.Sprintf("%q", list)
}

func data(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 80 && len(bytes.Trim(b, string(b[:1]))) == 0:
		return fmt.Sprintf("%d times %q", len(b), b[:1])
	}
	return fmt.Sprintf("%q", b)
}

func watch(w bool) string {
	if w {
		return " watch"
	}
	return ""
}

// acl tells a list that is not the open one.
func acl(list []zkproto.ACL) string {
	if slices.Equal(list, zkproto.WorldAnyone()) {
		return ""
	}
	return " acl=" + entries(list)
}

func entries(list []zkproto.ACL) string {
	if list == nil {
		return "null"
	}
	parts := make([]string, len(list))
	for i, a := range list {
		parts[i] = fmt.Sprintf("%s:%s:%d", a.Scheme, a.ID, a.Perms)
	}
	return "[" + strings.Join(parts, " ") + "]"
}
