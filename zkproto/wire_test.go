package zkproto_test

import (
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"zkbridge/zkproto"
)

var update = flag.Bool("update", false, "rewrite the frames in fixtures/wire")

// frame is one whole frame of the protocol and what it means.
type frame struct {
	name string // of the file in fixtures/wire, without .hex
	what string
	head zkproto.Message // *RequestHeader, *ReplyHeader, or nil for a handshake
	body zkproto.Message // nil where the header is all
	form string          // the fields of body, in the words of layout
}

const (
	statForm   = "czxid:long mzxid:long ctime:long mtime:long version:int cversion:int aversion:int ephemeralOwner:long dataLength:int numChildren:int pzxid:long"
	aclForm    = "acl:[perms:int scheme:string id:string]"
	createForm = "path:string data:buffer " + aclForm + " flags:int"
	watchForm  = "path:string watch:bool"
)

func request(xid int32, op zkproto.OpCode) *zkproto.RequestHeader {
	return &zkproto.RequestHeader{Xid: xid, Op: op}
}

func reply(xid int32, zxid int64) *zkproto.ReplyHeader {
	return &zkproto.ReplyHeader{Xid: xid, Zxid: zxid}
}

func failed(xid int32, zxid int64, c zkproto.Code) *zkproto.ReplyHeader {
	return &zkproto.ReplyHeader{Xid: xid, Zxid: zxid, Err: c}
}

func text(s string) *string { return &s }

// persistent is the Stat of a node that was created in transaction 0x102,
// written in 0x105 and got its second child in 0x108.
func persistent() zkproto.Stat {
	return zkproto.Stat{
		Czxid: 0x102, Mzxid: 0x105, Ctime: 1_700_000_000_123, Mtime: 1_700_000_004_567, Version: 1, Cversion: 2,
		Aversion: 0, EphemeralOwner: 0, DataLength: 5, NumChildren: 2, Pzxid: 0x108,
	}
}

// ephemeral is the Stat of a fresh ephemeral node.
func ephemeral() zkproto.Stat {
	return zkproto.Stat{
		Czxid: 0x109, Mzxid: 0x109, Ctime: 1_700_000_009_000, Mtime: 1_700_000_009_000,
		EphemeralOwner: 0x0100_0001_0000_0007, DataLength: 9, Pzxid: 0x109,
	}
}

func frames() []frame {
	passwd := []byte{0xd4, 0x91, 0x0c, 0x55, 0x7e, 0x01, 0x88, 0x9a, 0x20, 0x3f, 0x6b, 0xc2, 0x17, 0xee, 0x44, 0xa0}
	zeros := make([]byte, zkproto.PasswdSize)
	world := zkproto.WorldAnyone()
	digest := []zkproto.ACL{
		{Perms: zkproto.PermAll, Scheme: "digest", ID: "amy:o6eeBJEQ8ch0qCgGrcAnsNpoGtg="},
		{Perms: zkproto.PermRead, Scheme: "ip", ID: "192.0.2.0/24"},
	}
	provider := "/dubbo/com.acme.Greeter/providers/dubbo%3A%2F%2F192.0.2.10%3A20880%2Fcom.acme.Greeter"
	connect := "protocolVersion:int lastZxidSeen:long timeOut:int sessionId:long passwd:buffer readOnly:bool?"
	connected := "protocolVersion:int timeOut:int sessionId:long passwd:buffer readOnly:bool?"
	setWatches := "relativeZxid:long data:[:string] exist:[:string] child:[:string]"
	reconfig := "joining:string leaving:string newMembers:string curConfigId:long"

	return []frame{
		// Handshake.
		{
			"connect-request-new", "a new session, 45 bytes: Java, C, kazoo", nil,
			&zkproto.ConnectRequest{Timeout: 60000, Passwd: zeros, HasReadOnly: true}, connect,
		},
		{
			"connect-request-short", "a new session, 44 bytes, no read-only byte: go-zookeeper", nil,
			&zkproto.ConnectRequest{Timeout: 5000, Passwd: zeros}, connect,
		},
		{
			"connect-request-resume", "an earlier session, the client accepts a read-only server", nil,
			&zkproto.ConnectRequest{LastZxidSeen: 0x108, Timeout: 40000, SessionID: 0x0100_0001_0000_0007, Passwd: passwd, HasReadOnly: true, ReadOnly: true}, connect,
		},
		{
			"connect-request-null-passwd", "a new session with a null password", nil,
			&zkproto.ConnectRequest{Timeout: 30000, HasReadOnly: true}, connect,
		},
		{
			"connect-response", "granted, 37 bytes", nil,
			&zkproto.ConnectResponse{Timeout: 40000, SessionID: 0x0100_0001_0000_0007, Passwd: passwd, HasReadOnly: true}, connected,
		},
		{
			"connect-response-short", "granted, 36 bytes, to a request without the read-only byte", nil,
			&zkproto.ConnectResponse{Timeout: 5000, SessionID: 0x0100_0001_0000_0008, Passwd: passwd}, connected,
		},
		{
			"connect-response-expired", "the session is over: all zero", nil,
			&zkproto.ConnectResponse{Passwd: zeros, HasReadOnly: true}, connected,
		},

		// Create and delete.
		{
			"create-request", "ephemeral node with data", request(1, zkproto.OpCreate),
			&zkproto.CreateRequest{Path: provider, Data: []byte("192.0.2.10"), ACL: world, Flags: zkproto.FlagEphemeral}, createForm,
		},
		{
			"create-request-null-data", "persistent node with null data: zkclient", request(2, zkproto.OpCreate),
			&zkproto.CreateRequest{Path: "/dubbo", ACL: world}, createForm,
		},
		{
			"create-request-empty-data", "persistent sequential node with empty data and two ACL entries", request(3, zkproto.OpCreate),
			&zkproto.CreateRequest{Path: "/queue/n-", Data: []byte{}, ACL: digest, Flags: zkproto.FlagPersistentSequential}, createForm,
		},
		{
			"create-request-null-acl", "null list of ACLs: InvalidACL", request(4, zkproto.OpCreate),
			&zkproto.CreateRequest{Path: "/a", Data: []byte("x")}, createForm,
		},
		{
			"create-request-empty-acl", "empty list of ACLs: InvalidACL", request(4, zkproto.OpCreate),
			&zkproto.CreateRequest{Path: "/a", Data: []byte("x"), ACL: []zkproto.ACL{}}, createForm,
		},
		{"create-response", "the path, with its number", reply(3, 0x103), &zkproto.CreateResponse{Path: "/queue/n-0000000000"}, "path:string"},
		{
			"create2-request", "persistent node: every plain create of Curator", request(5, zkproto.OpCreate2),
			&zkproto.CreateRequest{Path: "/services", Data: []byte{}, ACL: world}, createForm,
		},
		{"create2-response", "path and Stat", reply(5, 0x109), &zkproto.Create2Response{Path: "/services/x", Stat: ephemeral()}, "path:string " + statForm},
		{
			"create-container-request", "container node", request(6, zkproto.OpCreateContainer),
			&zkproto.CreateRequest{Path: "/services", Data: []byte{}, ACL: world, Flags: zkproto.FlagContainer}, createForm,
		},
		{
			"create-ttl-request", "node that lives for an hour after its last change", request(7, zkproto.OpCreateTTL),
			&zkproto.CreateTTLRequest{Path: "/t", Data: []byte("x"), ACL: world, Flags: zkproto.FlagTTL, TTL: 3_600_000}, createForm + " ttl:long",
		},
		{"delete-request", "any version", request(8, zkproto.OpDelete), &zkproto.DeleteRequest{Path: provider, Version: -1}, "path:string version:int"},
		{"delete-response", "no body", reply(8, 0x10a), nil, ""},
		{
			"delete-container-request", "the server's own operation, path as a buffer", request(0, zkproto.OpDeleteContainer),
			&zkproto.DeleteContainerRequest{Path: []byte("/services/demo")}, "path:buffer",
		},
		{"check-request", "only known inside multi", request(9, zkproto.OpCheck), &zkproto.CheckRequest{Path: "/a", Version: 3}, "path:string version:int"},

		// Data.
		{"exists-request", "with watch", request(10, zkproto.OpExists), &zkproto.ExistsRequest{Path: "/dubbo", Watch: true}, watchForm},
		{"exists-response", "Stat", reply(10, 0x10a), &zkproto.ExistsResponse{Stat: persistent()}, statForm},
		{"error-response", "NoNode: no body", failed(10, 0x10a, zkproto.NoNode), nil, ""},
		{"get-data-request", "without watch", request(11, zkproto.OpGetData), &zkproto.GetDataRequest{Path: "/dubbo"}, watchForm},
		{"get-data-response", "data and Stat", reply(11, 0x10a), &zkproto.GetDataResponse{Data: []byte("hello"), Stat: persistent()}, "data:buffer " + statForm},
		{"get-data-response-null", "null data", reply(12, 0x10a), &zkproto.GetDataResponse{}, "data:buffer " + statForm},
		{"get-data-response-empty", "empty data", reply(12, 0x10a), &zkproto.GetDataResponse{Data: []byte{}}, "data:buffer " + statForm},
		{"set-data-request", "version 0", request(13, zkproto.OpSetData), &zkproto.SetDataRequest{Path: "/dubbo", Data: []byte("hello")}, "path:string data:buffer version:int"},
		{"set-data-response", "Stat", reply(13, 0x105), &zkproto.SetDataResponse{Stat: persistent()}, statForm},
		{"sync-request", "sync of the root: Curator 2 after each loss", request(14, zkproto.OpSync), &zkproto.SyncRequest{Path: "/"}, "path:string"},
		{"sync-response", "the path again", reply(14, 0x10a), &zkproto.SyncResponse{Path: "/"}, "path:string"},
		{"sync-response-astral", "a character above U+FFFF: two UTF-16 units of three bytes each", reply(14, 0x10a), nil, "path:string"},

		// ACL.
		{"get-acl-request", "", request(15, zkproto.OpGetACL), &zkproto.GetACLRequest{Path: "/secret"}, "path:string"},
		{"get-acl-response", "two entries and Stat", reply(15, 0x10a), &zkproto.GetACLResponse{ACL: digest, Stat: persistent()}, aclForm + " " + statForm},
		{"set-acl-request", "any aversion", request(16, zkproto.OpSetACL), &zkproto.SetACLRequest{Path: "/secret", ACL: digest, Version: -1}, "path:string " + aclForm + " aversion:int"},
		{"set-acl-response", "Stat", reply(16, 0x10b), &zkproto.SetACLResponse{Stat: persistent()}, statForm},

		// Children.
		{"get-children-request", "with watch", request(17, zkproto.OpGetChildren), &zkproto.GetChildrenRequest{Path: "/dubbo", Watch: true}, watchForm},
		{"get-children-response", "two names", reply(17, 0x10a), &zkproto.GetChildrenResponse{Children: []string{"com.acme.Greeter", "metadata"}}, "children:[:string]"},
		{"get-children-response-empty", "none: count 0", reply(17, 0x10a), &zkproto.GetChildrenResponse{Children: []string{}}, "children:[:string]"},
		{"get-children2-request", "with watch", request(18, zkproto.OpGetChildren2), &zkproto.GetChildren2Request{Path: "/dubbo", Watch: true}, watchForm},
		{"get-children2-response", "two names and Stat", reply(18, 0x10a), &zkproto.GetChildren2Response{Children: []string{"a", "b"}, Stat: persistent()}, "children:[:string] " + statForm},
		{"get-all-children-number-request", "", request(19, zkproto.OpGetAllChildrenNumber), &zkproto.GetAllChildrenNumberRequest{Path: "/"}, "path:string"},
		{"get-all-children-number-response", "a fresh server: three nodes below the root", reply(19, 0), &zkproto.GetAllChildrenNumberResponse{Count: 3}, "totalNumber:int"},
		{"get-ephemerals-request", "all", request(20, zkproto.OpGetEphemerals), &zkproto.GetEphemeralsRequest{Prefix: "/"}, "prefixPath:string"},
		{"get-ephemerals-response", "one", reply(20, 0x10a), &zkproto.GetEphemeralsResponse{Paths: []string{"/services/x"}}, "ephemerals:[:string]"},

		// Watches.
		{
			"notification", "NodeChildrenChanged, as 3.9 sends it", reply(zkproto.XidNotification, 0x109),
			&zkproto.WatcherEvent{Type: zkproto.EventChildrenChanged, State: zkproto.StateSyncConnected, Path: "/services"}, "type:int state:int path:string",
		},
		{
			"notification-catch-up", "NodeDeleted, missed while away: zxid -1", reply(zkproto.XidNotification, -1),
			&zkproto.WatcherEvent{Type: zkproto.EventDeleted, State: zkproto.StateSyncConnected, Path: "/services/x"}, "type:int state:int path:string",
		},
		{
			"set-watches-request", "xid -8: Java, C", request(zkproto.XidSetWatches, zkproto.OpSetWatches),
			&zkproto.SetWatchesRequest{RelativeZxid: 0x108, Data: []string{"/zookeeper/config"}, Exist: []string{}, Child: []string{"/dubbo", "/services"}}, setWatches,
		},
		{
			"set-watches-request-positive", "an ordinary xid: go-zookeeper", request(21, zkproto.OpSetWatches),
			&zkproto.SetWatchesRequest{RelativeZxid: 0x108, Data: []string{}, Exist: []string{"/a"}, Child: []string{}}, setWatches,
		},
		{"set-watches-response", "no body", reply(zkproto.XidSetWatches, 0x10a), nil, ""},
		{
			"set-watches2-request", "with a persistent recursive watch: Curator 5", request(zkproto.XidSetWatches, zkproto.OpSetWatches2),
			&zkproto.SetWatches2Request{RelativeZxid: 0x108, Data: []string{"/zookeeper/config"}, Exist: []string{}, Child: []string{}, Persistent: []string{"/p"}, PersistentRecursive: []string{"/services"}},
			setWatches + " persistent:[:string] persistentRecursive:[:string]",
		},
		{"add-watch-request", "persistent recursive", request(22, zkproto.OpAddWatch), &zkproto.AddWatchRequest{Path: "/services", Mode: zkproto.WatchPersistentRecursive}, "path:string mode:int"},
		{"add-watch-response", "four bytes, without which Java drops the connection", reply(22, 0x10a), &zkproto.AddWatchResponse{}, "err:int"},
		{"check-watches-request", "any kind", request(23, zkproto.OpCheckWatches), &zkproto.CheckWatchesRequest{Path: "/services", Type: zkproto.WatcherAny}, "path:string type:int"},
		{"remove-watches-request", "child watches", request(24, zkproto.OpRemoveWatches), &zkproto.RemoveWatchesRequest{Path: "/services", Type: zkproto.WatcherChildren}, "path:string type:int"},

		// Multi.
		{"multi-request", "every write that can be part of one", request(25, zkproto.OpMulti), &zkproto.MultiRequest{Ops: []zkproto.MultiOp{
			{Op: zkproto.OpCheck, Path: "/a", Version: 3},
			{Op: zkproto.OpCreate, Path: "/a/b", Data: []byte("x"), ACL: world},
			{Op: zkproto.OpCreate2, Path: "/a/c", ACL: world, Flags: zkproto.FlagEphemeral},
			{Op: zkproto.OpCreateContainer, Path: "/a/d", Data: []byte{}, ACL: world, Flags: zkproto.FlagContainer},
			{Op: zkproto.OpCreateTTL, Path: "/a/e", Data: []byte{}, ACL: world, Flags: zkproto.FlagTTL, TTL: 1000},
			{Op: zkproto.OpSetData, Path: "/a", Data: []byte("y"), Version: -1},
			{Op: zkproto.OpDelete, Path: "/a/b", Version: 0},
		}}, "ops:multi"},
		{"multi-request-empty", "nothing to do", request(26, zkproto.OpMulti), &zkproto.MultiRequest{Ops: []zkproto.MultiOp{}}, "ops:multi"},
		{"multi-response", "every kind of success", reply(25, 0x10c), &zkproto.MultiResponse{Results: []zkproto.MultiResult{
			{Op: zkproto.OpCheck},
			{Op: zkproto.OpCreate, Path: "/a/b"},
			{Op: zkproto.OpCreate2, Path: "/a/c", Stat: ephemeral()},
			{Op: zkproto.OpSetData, Stat: persistent()},
			{Op: zkproto.OpDelete},
		}}, "results:results"},
		{"multi-response-failed", "the second of three failed; the header says OK", reply(25, 0x10c), &zkproto.MultiResponse{Results: []zkproto.MultiResult{
			{Op: zkproto.OpError, Err: zkproto.OK},
			{Op: zkproto.OpError, Err: zkproto.NoNode},
			{Op: zkproto.OpError, Err: zkproto.RuntimeInconsistency},
		}}, "results:results"},
		{"multi-read-request", "both reads that can be part of one", request(27, zkproto.OpMultiRead), &zkproto.MultiReadRequest{Ops: []zkproto.MultiOp{
			{Op: zkproto.OpGetChildren, Path: "/a"},
			{Op: zkproto.OpGetData, Path: "/a", Watch: true},
		}}, "ops:multi"},
		{"multi-read-response", "a list, data, and one that is missing", reply(27, 0x10c), &zkproto.MultiResponse{Results: []zkproto.MultiResult{
			{Op: zkproto.OpGetChildren, Children: []string{"b"}},
			{Op: zkproto.OpGetData, Data: []byte("hello"), Stat: persistent()},
			{Op: zkproto.OpError, Err: zkproto.NoNode},
		}}, "results:results"},

		// Connection and session.
		{"ping-request", "no body", request(zkproto.XidPing, zkproto.OpPing), nil, ""},
		{"ping-response", "no body", reply(zkproto.XidPing, 0x10a), nil, ""},
		{"auth-request", "digest, xid -4: Java, C, kazoo", request(zkproto.XidAuth, zkproto.OpAuth), &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("amy:secret")}, "type:int scheme:string auth:buffer"},
		{"auth-request-null", "null credentials", request(28, zkproto.OpAuth), &zkproto.AuthRequest{Scheme: "ip"}, "type:int scheme:string auth:buffer"},
		{"auth-response", "zxid 0, no body", reply(zkproto.XidAuth, 0), nil, ""},
		{"auth-response-failed", "then the connection is closed", failed(zkproto.XidAuth, 0, zkproto.AuthFailed), nil, ""},
		{"sasl-request", "first token", request(29, zkproto.OpSASL), &zkproto.SASLRequest{Token: []byte{0x60, 0x01}}, "token:buffer"},
		{"sasl-response", "null token: a server without SASL", reply(29, 0), &zkproto.SASLResponse{}, "token:buffer"},
		{"who-am-i-request", "no body", request(30, zkproto.OpWhoAmI), nil, ""},
		{"who-am-i-response", "address and digest user", reply(30, 0x10a), &zkproto.WhoAmIResponse{Identities: []zkproto.ClientInfo{{Scheme: "ip", User: "192.0.2.10"}, {Scheme: "digest", User: "amy"}}}, "clientInfo:[scheme:string user:string]"},
		{"reconfig-request", "one more member; the other strings null", request(31, zkproto.OpReconfig), &zkproto.ReconfigRequest{Joining: text("server.4=192.0.2.4:2888:3888;2181"), CurrentConfig: -1}, reconfig},
		{"reconfig-request-empty", "empty strings are not null ones", request(31, zkproto.OpReconfig), &zkproto.ReconfigRequest{Joining: text(""), Leaving: text("2"), NewMembers: text("")}, reconfig},
		{"reconfig-response", "the configuration and its Stat", reply(31, 0x10d), &zkproto.ReconfigResponse{Config: []byte("server.1=192.0.2.1:2888:3888:participant\nversion=10000010d"), Stat: persistent()}, "data:buffer " + statForm},
		{"close-session-request", "no body", request(32, zkproto.OpCloseSession), nil, ""},
		{"close-session-response", "no body, then the connection is closed", reply(32, 0x10e), nil, ""},
		{"unknown-op-response", "Unimplemented with zxid -1, then the connection is closed", failed(33, -1, zkproto.Unimplemented), nil, ""},
	}
}

// astral is the one frame that does not mean the same to its reader: Java reads
// the units that Java wrote one by one.
const astral = "sync-response-astral"

func (f frame) bytes() []byte {
	return zkproto.AppendFrame(nil, func(dst []byte) []byte {
		if f.head != nil {
			dst = f.head.AppendTo(dst)
		}
		if f.name == astral {
			return (&zkproto.SyncResponse{Path: "/a\U0001F600b"}).AppendTo(dst)
		}
		if f.body != nil {
			dst = f.body.AppendTo(dst)
		}
		return dst
	})
}

func (f frame) headSize() int {
	switch f.head.(type) {
	case *zkproto.RequestHeader:
		return zkproto.RequestHeaderSize
	case *zkproto.ReplyHeader:
		return zkproto.ReplyHeaderSize
	}
	return 0
}

func fixture(name string) string { return filepath.Join("..", "fixtures", "wire", name+".hex") }

// load reads a frame: hex digits, spaces as you like, # to the end of the line.
func load(tb testing.TB, name string) []byte {
	tb.Helper()
	src, err := os.ReadFile(fixture(name))
	if err != nil {
		tb.Fatalf("%v (make it with -update)", err)
	}
	var digits strings.Builder
	for line := range strings.Lines(string(src)) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return b
}

// TestFrames compares every frame with its file in both directions. The file's
// comments are made from form, a second description of the record, so that a
// wrong encoder and a wrong decoder that agree with each other are seen.
func TestFrames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range frames() {
		t.Run(f.name, func(t *testing.T) {
			seen[f.name+".hex"] = true
			got := f.bytes()
			page := annotate(t, f, got)
			if *update {
				if err := os.WriteFile(fixture(f.name), []byte(page), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := load(t, f.name)
			if string(got) != string(want) {
				t.Errorf("encoded: got\n%s\nwant\n%s", hex.Dump(got), hex.Dump(want))
			}
			if on, err := os.ReadFile(fixture(f.name)); err != nil || string(on) != page {
				t.Errorf("fixture is not what -update writes: %v", err)
			}
			if n := int(binary.BigEndian.Uint32(want)); n != len(want)-4 {
				t.Fatalf("length: got %d, want %d", n, len(want)-4)
			}
			checkDecode(t, f.head, want[4:])
			checkDecode(t, f.body, want[4+f.headSize():])
		})
	}
	files, err := os.ReadDir(filepath.Dir(fixture("x")))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range files {
		if !seen[e.Name()] {
			t.Errorf("%s: no frame of that name", e.Name())
		}
	}
}

func checkDecode(t *testing.T, want zkproto.Message, body []byte) {
	t.Helper()
	if want == nil {
		return
	}
	got := reflect.New(reflect.TypeOf(want).Elem()).Interface().(zkproto.Message)
	if err := got.Decode(body); err != nil {
		t.Errorf("decode: %v", err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded: got %+v, want %+v", got, want)
	}
}

// annotate writes a frame as the page of hex and comments that its fixture is.
func annotate(t *testing.T, f frame, b []byte) string {
	t.Helper()
	l := &layout{t: t, rest: b}
	name, _, _ := strings.Cut(strings.TrimSuffix(f.name, ".hex"), ".")
	l.out.WriteString("# " + name)
	if f.what != "" {
		l.out.WriteString(": " + f.what)
	}
	l.out.WriteString("\n")
	l.fields("length:int")
	switch h := f.head.(type) {
	case *zkproto.RequestHeader:
		l.fields("xid:int")
		l.row(4, "type: "+h.Op.String())
	case *zkproto.ReplyHeader:
		l.fields("xid:int zxid:long err:int")
	}
	l.fields(f.form)
	if len(l.rest) > 0 {
		t.Errorf("%d bytes are not in the form %q", len(l.rest), f.form)
	}
	return l.out.String()
}

// layout walks bytes by a description of their fields: name:type, with
// name:[fields] for a vector and ? behind a field that may be missing.
type layout struct {
	t    *testing.T
	rest []byte
	out  strings.Builder
}

func (l *layout) take(n int) []byte {
	if n < 0 || n > len(l.rest) {
		l.t.Errorf("form wants %d bytes, %d left", n, len(l.rest))
		n = len(l.rest)
	}
	b := l.rest[:n]
	l.rest = l.rest[n:]
	return b
}

func (l *layout) row(n int, what string) []byte {
	b := l.take(n)
	for i := 0; i < len(b) || i == 0; i += 16 {
		line := b[i:min(i+16, len(b))]
		fmt.Fprintf(&l.out, "%-47s", strings.TrimSpace(fmt.Sprintf("% x", line)))
		if i == 0 {
			l.out.WriteString(" # " + what)
		} else {
			l.out.WriteString(" #")
		}
		l.out.WriteString("\n")
	}
	return b
}

func (l *layout) int(what string) int {
	if len(l.rest) < 4 {
		l.t.Errorf("form wants an int for %s", what)
		return 0
	}
	v := int32(binary.BigEndian.Uint32(l.rest))
	l.row(4, fmt.Sprintf("%s: %d", what, v))
	return int(v)
}

func (l *layout) fields(form string) {
	for form != "" {
		name, rest, _ := strings.Cut(form, ":")
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			end := strings.Index(inner, "]")
			form = strings.TrimSpace(inner[end+1:])
			for i := range max(0, l.int(name+" count")) {
				l.items(fmt.Sprintf("%s %d", name, i), inner[:end])
			}
			continue
		}
		var kind string
		kind, form, _ = strings.Cut(rest, " ")
		l.field(name, kind)
	}
}

func (l *layout) items(name, form string) {
	for one := range strings.FieldsSeq(form) {
		field, kind, _ := strings.Cut(one, ":")
		l.field(strings.TrimSpace(name+" "+field), kind)
	}
}

func (l *layout) field(name, kind string) {
	if missing, ok := strings.CutSuffix(kind, "?"); ok {
		if len(l.rest) == 0 {
			return
		}
		kind = missing
	}
	switch kind {
	case "bool":
		l.row(1, name)
	case "int":
		l.int(name)
	case "long":
		if len(l.rest) >= 8 {
			l.row(8, fmt.Sprintf("%s: %d", name, int64(binary.BigEndian.Uint64(l.rest))))
		} else {
			l.t.Errorf("form wants a long for %s", name)
		}
	case "string", "buffer":
		if n := l.int(name + " length"); n > 0 {
			what := name
			if kind == "string" && n <= len(l.rest) {
				what = fmt.Sprintf("%s: %q", name, l.rest[:n])
			}
			l.row(n, what)
		}
	case "multi", "results":
		l.parts(kind == "results")
	default:
		l.t.Errorf("unknown type %q in form", kind)
	}
}

func (l *layout) parts(results bool) {
	forms := map[zkproto.OpCode]string{
		zkproto.OpCreate: createForm, zkproto.OpCreate2: createForm, zkproto.OpCreateContainer: createForm,
		zkproto.OpCreateTTL: createForm + " ttl:long", zkproto.OpDelete: "path:string version:int",
		zkproto.OpCheck: "path:string version:int", zkproto.OpSetData: "path:string data:buffer version:int",
		zkproto.OpGetChildren: watchForm, zkproto.OpGetData: watchForm,
	}
	if results {
		forms = map[zkproto.OpCode]string{
			zkproto.OpCreate: "path:string", zkproto.OpCreate2: "path:string " + statForm, zkproto.OpSetData: statForm,
			zkproto.OpGetChildren: "children:[:string]", zkproto.OpGetData: "data:buffer " + statForm, zkproto.OpError: "err:int",
		}
	}
	for len(l.rest) >= 9 {
		op, done := zkproto.OpCode(binary.BigEndian.Uint32(l.rest)), l.rest[4] != 0
		l.row(9, fmt.Sprintf("part: %v, done %v, err %d", op, done, int32(binary.BigEndian.Uint32(l.rest[5:]))))
		if done {
			return
		}
		l.fields(forms[op])
	}
}
