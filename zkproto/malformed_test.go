package zkproto_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"zkbridge/zkproto"
)

func raw(parts ...string) []byte { return []byte(strings.Join(parts, "")) }

const (
	minus1  = "\xff\xff\xff\xff"
	minus2  = "\xff\xff\xff\xfe"
	zero    = "\x00\x00\x00\x00"
	one     = "\x00\x00\x00\x01"
	two     = "\x00\x00\x00\x02"
	four    = "\x00\x00\x00\x04"
	huge    = "\x7f\xff\xff\xff"
	pathA   = "\x00\x00\x00\x02/a"
	dataX   = "\x00\x00\x00\x01x"
	anyone  = "\x00\x00\x00\x01\x00\x00\x00\x1f\x00\x00\x00\x05world\x00\x00\x00\x06anyone"
	lastOp  = "\xff\xff\xff\xff\x01\xff\xff\xff\xff"
	zero8   = "\x00\x00\x00\x00\x00\x00\x00\x00"
	noLists = zero + zero + zero
)

func part(op, body string) string { return op + "\x00\xff\xff\xff\xff" + body }

func TestMalformed(t *testing.T) {
	tests := []struct {
		name string
		into zkproto.Message
		body []byte
	}{
		{"null path", &zkproto.ExistsRequest{}, raw(minus1, "\x01")},
		{"negative length", &zkproto.ExistsRequest{}, raw(minus2, "\x01")},
		{"length beyond the body", &zkproto.ExistsRequest{}, raw(four, "/a\x01")},
		{"huge length", &zkproto.GetDataRequest{}, raw(huge, "/a\x01")},
		{"negative data length", &zkproto.CreateRequest{}, raw(pathA, minus2, anyone, zero)},
		{"huge data length", &zkproto.SetDataRequest{}, raw(pathA, huge, "x", minus1)},
		{"huge acl count", &zkproto.CreateRequest{}, raw(pathA, dataX, huge, zero)},
		{"null path in a multi", &zkproto.MultiRequest{}, raw(part(two, minus1+zero), lastOp)},
		{"no flags", &zkproto.CreateRequest{}, raw(pathA, dataX, anyone)},
		{"no ttl", &zkproto.CreateTTLRequest{}, raw(pathA, dataX, anyone, zero)},
		{"no version", &zkproto.DeleteRequest{}, raw(pathA)},
		{"null data list", &zkproto.SetWatchesRequest{}, raw(zero8, minus1, zero, zero)},
		{"null exist list", &zkproto.SetWatchesRequest{}, raw(zero8, zero, minus1, zero)},
		{"null child list", &zkproto.SetWatchesRequest{}, raw(zero8, zero, zero, minus1)},
		{"null persistent list", &zkproto.SetWatches2Request{}, raw(zero8, noLists, minus1, zero)},
		{"null recursive list", &zkproto.SetWatches2Request{}, raw(zero8, noLists, zero, minus1)},
		{"null path in a list", &zkproto.SetWatchesRequest{}, raw(zero8, one, minus1, zero, zero)},
		{"huge list", &zkproto.SetWatchesRequest{}, raw(zero8, huge, pathA, zero, zero)},
		{"multi without end", &zkproto.MultiRequest{}, raw(part(two, pathA+zero))},
		{"multi with unknown operation", &zkproto.MultiRequest{}, raw(part("\x00\x00\x03\x78", pathA), lastOp)},
		{"multi with setACL", &zkproto.MultiRequest{}, raw(part("\x00\x00\x00\x07", pathA+anyone+zero), lastOp)},
		{"multi with a read", &zkproto.MultiRequest{}, raw(part(four, pathA+"\x00"), lastOp)},
		{"multi with illegal flags and a null acl", &zkproto.MultiRequest{}, raw(part(one, pathA+dataX+minus1+minus1), lastOp)},
		{"multi with a null acl and the flags of a ttl", &zkproto.MultiRequest{}, raw(part(one, pathA+dataX+minus1+"\x00\x00\x00\x05"), lastOp)},
		{"multi with a null acl behind a read", &zkproto.MultiRequest{}, raw(part(four, pathA+"\x00"), part(one, pathA+dataX+minus1+zero), lastOp)},
		{"multi with a null acl", &zkproto.MultiRequest{}, raw(part(one, pathA+dataX+minus1+zero), lastOp)},
		{"multi with flags 7", &zkproto.MultiRequest{}, raw(part(one, pathA+dataX+anyone+"\x00\x00\x00\x07"), lastOp)},
		{"multi with negative flags", &zkproto.MultiRequest{}, raw(part(one, pathA+dataX+anyone+minus1), lastOp)},
		{"multi with ttl flag in create", &zkproto.MultiRequest{}, raw(part(one, pathA+dataX+anyone+"\x00\x00\x00\x05"), lastOp)},
		{"multiRead with a read behind a write", &zkproto.MultiReadRequest{}, raw(part(two, pathA+zero), part(four, pathA+"\x00"), lastOp)},
		{"multiRead with a write behind a read", &zkproto.MultiReadRequest{}, raw(part(four, pathA+"\x00"), part(two, pathA+zero), lastOp)},
		{"result of unknown type", &zkproto.MultiResponse{}, raw(part("\x00\x00\x00\x09", pathA), lastOp)},
		{"empty connect request", &zkproto.ConnectRequest{}, nil},
		{"connect request without password", &zkproto.ConnectRequest{}, make([]byte, 24)},
		{"password beyond the frame", &zkproto.ConnectRequest{}, append(make([]byte, 24), "\x00\x00\x00\x10short"...)},
		{"null sasl token", &zkproto.SASLRequest{}, raw(minus1)},
		{"short stat", &zkproto.ExistsResponse{}, make([]byte, zkproto.StatSize-1)},
		{"huge identity count", &zkproto.WhoAmIResponse{}, raw(huge, pathA)},
		{"short request header", &zkproto.RequestHeader{}, make([]byte, 7)},
		{"short reply header", &zkproto.ReplyHeader{}, make([]byte, 15)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.into.Decode(tt.body); !errors.Is(err, zkproto.ErrMalformed) {
				t.Errorf("got %v, want an error that wraps ErrMalformed", err)
			} else if null := strings.HasPrefix(tt.name, "multi with a null acl"); errors.Is(err, zkproto.ErrNullACL) != null {
				t.Errorf("got %v, want one that wraps ErrNullACL: %v", err, null)
			}
		})
	}
}

// TestTolerated has what looks wrong and is read as ZooKeeper reads it.
func TestTolerated(t *testing.T) {
	tests := []struct {
		name string
		into zkproto.Message
		body []byte
		want zkproto.Message
	}{
		{"bytes behind the record", &zkproto.ExistsRequest{}, raw(pathA, "\x00rest"), &zkproto.ExistsRequest{Path: "/a"}},
		{"any byte but 0 is true", &zkproto.ExistsRequest{}, raw(pathA, "\x80"), &zkproto.ExistsRequest{Path: "/a", Watch: true}},
		{
			"negative count is an empty list", &zkproto.SetWatchesRequest{}, raw(zero8, minus2, zero, zero),
			&zkproto.SetWatchesRequest{Data: []string{}, Exist: []string{}, Child: []string{}},
		},
		{"negative acl count is an empty list", &zkproto.SetACLRequest{}, raw(pathA, minus2, zero), &zkproto.SetACLRequest{Path: "/a", ACL: []zkproto.ACL{}}},
		{"null acl", &zkproto.SetACLRequest{}, raw(pathA, minus1, zero), &zkproto.SetACLRequest{Path: "/a"}},
		{"null acl scheme", &zkproto.CreateRequest{}, raw(pathA, dataX, one, zero, minus1, pathA, zero), &zkproto.CreateRequest{
			Path: "/a", Data: []byte("x"), ACL: []zkproto.ACL{{Scheme: zkproto.Null, ID: "/a"}},
		}},
		{"null acl id", &zkproto.SetACLRequest{}, raw(pathA, one, zero, pathA, minus1, zero), &zkproto.SetACLRequest{
			Path: "/a", ACL: []zkproto.ACL{{Scheme: "/a", ID: zkproto.Null}},
		}},
		{"null acl id in a multi", &zkproto.MultiRequest{}, raw(part(one, pathA+dataX+one+zero+pathA+minus1+zero), lastOp), &zkproto.MultiRequest{
			Ops: []zkproto.MultiOp{{Op: zkproto.OpCreate, Path: "/a", Data: []byte("x"), ACL: []zkproto.ACL{{Scheme: "/a", ID: zkproto.Null}}}},
		}},
		{"null scheme of an auth", &zkproto.AuthRequest{}, raw(zero, minus1, minus1), &zkproto.AuthRequest{Scheme: zkproto.Null}},
		{"null path", &zkproto.DeleteRequest{}, raw(minus1, zero), &zkproto.DeleteRequest{Path: zkproto.Null}},
		{"null path of a sync", &zkproto.SyncRequest{}, raw(minus1), &zkproto.SyncRequest{Path: zkproto.Null}},
		{"null path in a multiRead", &zkproto.MultiReadRequest{}, raw(part(four, minus1+"\x00"), lastOp), &zkproto.MultiReadRequest{
			Ops: []zkproto.MultiOp{{Op: zkproto.OpGetData, Path: zkproto.Null}},
		}},
		{"multiRead of writes", &zkproto.MultiReadRequest{}, raw(part(two, pathA+zero), lastOp), &zkproto.MultiReadRequest{
			Ops: []zkproto.MultiOp{{Op: zkproto.OpDelete, Path: "/a"}},
		}},
		{"null prefix", &zkproto.GetEphemeralsRequest{}, raw(minus1), &zkproto.GetEphemeralsRequest{}},
		{
			"illegal flags", &zkproto.CreateRequest{}, raw(pathA, dataX, anyone, minus1),
			&zkproto.CreateRequest{Path: "/a", Data: []byte("x"), ACL: zkproto.WorldAnyone(), Flags: -1},
		},
		{"unknown watcher type", &zkproto.RemoveWatchesRequest{}, raw(pathA, huge), &zkproto.RemoveWatchesRequest{Path: "/a", Type: 0x7fffffff}},
		{"part of a multi whose end has another type", &zkproto.MultiRequest{}, raw("\x00\x00\x00\x02\x01\x00\x00\x00\x00"), &zkproto.MultiRequest{Ops: []zkproto.MultiOp{}}},
		{
			"ttl flag in createTTL of a multi", &zkproto.MultiRequest{}, raw(part("\x00\x00\x00\x15", pathA+dataX+anyone+"\x00\x00\x00\x06"+zero8), lastOp),
			&zkproto.MultiRequest{Ops: []zkproto.MultiOp{{Op: zkproto.OpCreateTTL, Path: "/a", Data: []byte("x"), ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagTTLSequential}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.into.Decode(tt.body); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(tt.into, tt.want) {
				t.Errorf("got %+v, want %+v", tt.into, tt.want)
			}
		})
	}
}

// TestTruncated cuts every frame at every length: a prefix of a record is
// refused, unless what is missing may be missing.
func TestTruncated(t *testing.T) {
	for _, f := range frames() {
		if f.body == nil {
			continue
		}
		body := load(t, f.name)[4+f.headSize():]
		for n := range len(body) {
			got := reflect.New(reflect.TypeOf(f.body).Elem()).Interface().(zkproto.Message)
			err := got.Decode(body[:n:n])
			flag := reflect.ValueOf(f.body).Elem().FieldByName("HasReadOnly")
			optional := n == len(body)-1 && flag.IsValid() && flag.Bool()
			if optional != (err == nil) {
				t.Errorf("%s cut to %d of %d bytes: got %v", f.name, n, len(body), err)
			}
		}
	}
}

// TestText has the strings that Java reads in its own way.
func TestText(t *testing.T) {
	tests := []struct{ name, wire, want string }{
		{"ascii", "/a", "/a"},
		{"two and three bytes", "/ä€", "/ä€"},
		{"four bytes", "/\xf0\x9f\x98\x80", "/\U0001F600"},
		{"lone continuation", "/\x80\x80", "/\uFFFD\uFFFD"},
		{"cut two-byte sequence", "/\xc3", "/\uFFFD"},
		{"cut three-byte sequence", "/\xe2\x82", "/\uFFFD"},
		{"cut three-byte sequence and a letter", "/\xe2\x82a", "/\uFFFDa"},
		{"cut four-byte sequence", "/\xf0\x9f\x98a", "/\uFFFDa"},
		{"overlong slash", "/\xc0\xaf", "/\uFFFD\uFFFD"},
		{"overlong three bytes", "/\xe0\x80\xaf", "/\uFFFD\uFFFD\uFFFD"},
		{"surrogate pair in six bytes", "/\xed\xa0\xbd\xed\xb8\x80", "/\uFFFD\uFFFD"},
		{"above U+10FFFF", "/\xf4\x90\x80\x80", "/\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"bytes that start nothing", "/\xfe\xff", "/\uFFFD\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var m zkproto.SyncRequest
			body := append([]byte{0, 0, 0, byte(len(tt.wire))}, tt.wire...)
			if err := m.Decode(body); err != nil {
				t.Fatal(err)
			}
			if m.Path != tt.want {
				t.Errorf("got %q, want %q", m.Path, tt.want)
			}
		})
	}
}

func TestReadFrame(t *testing.T) {
	frame := func(n int) []byte {
		return zkproto.AppendFrame(nil, func(dst []byte) []byte { return append(dst, bytes.Repeat([]byte{'x'}, n)...) })
	}
	tests := []struct {
		name  string
		in    []byte
		limit int
		want  int // length, or
		err   error
	}{
		{"empty", frame(0), 100, 0, nil},
		{"small", frame(50), 100, 50, nil},
		{"at the limit", frame(zkproto.DefaultMaxFrame), zkproto.DefaultMaxFrame, zkproto.DefaultMaxFrame, nil},
		{"above the limit", frame(101), 100, 0, zkproto.ErrFrameLength},
		{"negative", []byte(minus1), 100, 0, zkproto.ErrFrameLength},
		{"four letters", []byte("ruok"), zkproto.DefaultMaxFrame, 0, zkproto.ErrFrameLength},
		{"nothing", nil, 100, 0, io.EOF},
		{"cut length", frame(50)[:3], 100, 0, io.ErrUnexpectedEOF},
		{"no body", frame(50)[:4], 100, 0, io.ErrUnexpectedEOF},
		{"cut body", frame(50)[:40], 100, 0, io.ErrUnexpectedEOF},
		{"cut body of many parts", frame(90_000)[:80_000], 100_000, 0, io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, buf := range [][]byte{nil, make([]byte, 3), make([]byte, 0, 64), make([]byte, 64<<10)} {
				got, err := zkproto.ReadFrame(iotest.HalfReader(bytes.NewReader(tt.in)), buf, tt.limit)
				if !errors.Is(err, tt.err) || len(got) != tt.want {
					t.Errorf("buffer of %d: got %d bytes, %v, want %d, %v", cap(buf), len(got), err, tt.want, tt.err)
				}
				if err == nil && !bytes.Equal(got, tt.in[4:]) {
					t.Errorf("buffer of %d: got other bytes", cap(buf))
				}
			}
		})
	}
}

// TestReadFrameTakesNoWordForIt reads a frame that promises much and sends
// little: no buffer of the promised size is made.
func TestReadFrameTakesNoWordForIt(t *testing.T) {
	in := append([]byte{0x03, 0, 0, 0}, "little"...) // 48 MiB
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := zkproto.ReadFrame(bytes.NewReader(in), nil, 64<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
				b.Fatalf("got %v, want unexpected EOF", err)
			}
		}
	})
	if got := result.AllocedBytesPerOp(); got > 64<<10 {
		t.Errorf("got %d bytes set aside, want at most %d", got, 64<<10)
	}
}

func TestCodeIsAnError(t *testing.T) {
	var err error = zkproto.NoNode
	wrapped := errors.Join(errors.New("create /a"), err)
	if !errors.Is(wrapped, zkproto.NoNode) || errors.Is(wrapped, zkproto.NodeExists) {
		t.Error("a code is not found in what wraps it")
	}
	for c := zkproto.Code(-130); c <= 0; c++ {
		if c.Error() == "" {
			t.Errorf("code %d has no text", int(c))
		}
	}
}

func TestFlags(t *testing.T) {
	tests := []struct {
		flags                                            zkproto.CreateFlags
		valid, ephemeral, sequential, container, expires bool
	}{
		{-1, false, false, false, false, false},
		{zkproto.FlagPersistent, true, false, false, false, false},
		{zkproto.FlagEphemeral, true, true, false, false, false},
		{zkproto.FlagPersistentSequential, true, false, true, false, false},
		{zkproto.FlagEphemeralSequential, true, true, true, false, false},
		{zkproto.FlagContainer, true, false, false, true, false},
		{zkproto.FlagTTL, true, false, false, false, true},
		{zkproto.FlagTTLSequential, true, false, true, false, true},
		{7, false, false, false, false, false},
	}
	for _, tt := range tests {
		f := tt.flags
		got := [5]bool{f.Valid(), f.Ephemeral(), f.Sequential(), f.Container(), f.TTL()}
		if want := [5]bool{tt.valid, tt.ephemeral, tt.sequential, tt.container, tt.expires}; got != want {
			t.Errorf("flags %d: got %v, want %v", f, got, want)
		}
	}
}
