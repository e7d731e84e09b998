package zkproto_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"zkbridge/zkproto"
)

// fuzz checks the decoder of one record with the frames in fixtures/wire that
// carry it as its corpus: it refuses or reads, never panics, does not keep or
// change the body, and what it read survives being written and read again.
func fuzz[T any, P interface {
	*T
	zkproto.Message
}](f *testing.F) {
	n := 0
	for _, one := range frames() {
		if _, ok := one.body.(P); ok {
			f.Add(load(f, one.name)[4+one.headSize():])
			n++
		}
	}
	if n == 0 {
		f.Fatalf("no frame in fixtures/wire carries a %T", *new(T))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		first := P(new(T))
		err := first.Decode(body)
		if !bytes.Equal(body, before) {
			t.Fatal("decode changed the body")
		}
		if err != nil {
			if !errors.Is(err, zkproto.ErrMalformed) {
				t.Fatalf("got error %v, want one that wraps ErrMalformed", err)
			}
			return
		}
		wire := first.AppendTo(nil)
		for i := range body {
			body[i] ^= 0xff
		}
		if again := first.AppendTo(nil); !bytes.Equal(again, wire) {
			t.Fatal("decoded record shares bytes with the body")
		}
		second := P(new(T))
		if err := second.Decode(wire); err != nil {
			t.Fatalf("decode of own encoding %x: %v", wire, err)
		}
		// Characters above U+FFFF do not survive Java's encoding.
		astral := slices.ContainsFunc(before, func(c byte) bool { return c >= 0xf0 && c <= 0xf4 })
		if !astral && !reflect.DeepEqual(first, second) {
			t.Fatalf("got %+v, want %+v", second, first)
		}
		wire = second.AppendTo(nil)
		third := P(new(T))
		if err := third.Decode(wire); err != nil || !reflect.DeepEqual(second, third) {
			t.Fatalf("got %+v, %v, want %+v", third, err, second)
		}
		if dirty := second; dirty.Decode(wire) != nil || !reflect.DeepEqual(dirty, third) {
			t.Fatal("decode into a used record gives something else")
		}
	})
}

func FuzzConnectRequest(f *testing.F)         { fuzz[zkproto.ConnectRequest](f) }
func FuzzConnectResponse(f *testing.F)        { fuzz[zkproto.ConnectResponse](f) }
func FuzzCreateRequest(f *testing.F)          { fuzz[zkproto.CreateRequest](f) }
func FuzzCreateTTLRequest(f *testing.F)       { fuzz[zkproto.CreateTTLRequest](f) }
func FuzzCreateResponse(f *testing.F)         { fuzz[zkproto.CreateResponse](f) }
func FuzzCreate2Response(f *testing.F)        { fuzz[zkproto.Create2Response](f) }
func FuzzDeleteRequest(f *testing.F)          { fuzz[zkproto.DeleteRequest](f) }
func FuzzDeleteContainerRequest(f *testing.F) { fuzz[zkproto.DeleteContainerRequest](f) }
func FuzzCheckRequest(f *testing.F)           { fuzz[zkproto.CheckRequest](f) }
func FuzzExistsRequest(f *testing.F)          { fuzz[zkproto.ExistsRequest](f) }
func FuzzExistsResponse(f *testing.F)         { fuzz[zkproto.ExistsResponse](f) }
func FuzzGetDataRequest(f *testing.F)         { fuzz[zkproto.GetDataRequest](f) }
func FuzzGetDataResponse(f *testing.F)        { fuzz[zkproto.GetDataResponse](f) }
func FuzzSetDataRequest(f *testing.F)         { fuzz[zkproto.SetDataRequest](f) }
func FuzzSetDataResponse(f *testing.F)        { fuzz[zkproto.SetDataResponse](f) }
func FuzzSyncRequest(f *testing.F)            { fuzz[zkproto.SyncRequest](f) }
func FuzzSyncResponse(f *testing.F)           { fuzz[zkproto.SyncResponse](f) }
func FuzzGetACLRequest(f *testing.F)          { fuzz[zkproto.GetACLRequest](f) }
func FuzzGetACLResponse(f *testing.F)         { fuzz[zkproto.GetACLResponse](f) }
func FuzzSetACLRequest(f *testing.F)          { fuzz[zkproto.SetACLRequest](f) }
func FuzzSetACLResponse(f *testing.F)         { fuzz[zkproto.SetACLResponse](f) }
func FuzzGetChildrenRequest(f *testing.F)     { fuzz[zkproto.GetChildrenRequest](f) }
func FuzzGetChildrenResponse(f *testing.F)    { fuzz[zkproto.GetChildrenResponse](f) }
func FuzzGetChildren2Request(f *testing.F)    { fuzz[zkproto.GetChildren2Request](f) }
func FuzzGetChildren2Response(f *testing.F)   { fuzz[zkproto.GetChildren2Response](f) }
func FuzzGetAllChildrenNumberRequest(f *testing.F) {
	fuzz[zkproto.GetAllChildrenNumberRequest](f)
}

func FuzzGetAllChildrenNumberResponse(f *testing.F) {
	fuzz[zkproto.GetAllChildrenNumberResponse](f)
}
func FuzzGetEphemeralsRequest(f *testing.F)  { fuzz[zkproto.GetEphemeralsRequest](f) }
func FuzzGetEphemeralsResponse(f *testing.F) { fuzz[zkproto.GetEphemeralsResponse](f) }
func FuzzWatcherEvent(f *testing.F)          { fuzz[zkproto.WatcherEvent](f) }
func FuzzSetWatchesRequest(f *testing.F)     { fuzz[zkproto.SetWatchesRequest](f) }
func FuzzSetWatches2Request(f *testing.F)    { fuzz[zkproto.SetWatches2Request](f) }
func FuzzAddWatchRequest(f *testing.F)       { fuzz[zkproto.AddWatchRequest](f) }
func FuzzAddWatchResponse(f *testing.F)      { fuzz[zkproto.AddWatchResponse](f) }
func FuzzCheckWatchesRequest(f *testing.F)   { fuzz[zkproto.CheckWatchesRequest](f) }
func FuzzRemoveWatchesRequest(f *testing.F)  { fuzz[zkproto.RemoveWatchesRequest](f) }
func FuzzMultiRequest(f *testing.F)          { fuzz[zkproto.MultiRequest](f) }
func FuzzMultiReadRequest(f *testing.F)      { fuzz[zkproto.MultiReadRequest](f) }
func FuzzMultiResponse(f *testing.F)         { fuzz[zkproto.MultiResponse](f) }
func FuzzAuthRequest(f *testing.F)           { fuzz[zkproto.AuthRequest](f) }
func FuzzSASLRequest(f *testing.F)           { fuzz[zkproto.SASLRequest](f) }
func FuzzSASLResponse(f *testing.F)          { fuzz[zkproto.SASLResponse](f) }
func FuzzWhoAmIResponse(f *testing.F)        { fuzz[zkproto.WhoAmIResponse](f) }
func FuzzReconfigRequest(f *testing.F)       { fuzz[zkproto.ReconfigRequest](f) }
func FuzzReconfigResponse(f *testing.F)      { fuzz[zkproto.ReconfigResponse](f) }

// FuzzRequestHeader reads any bytes as a request frame.
func FuzzRequestHeader(f *testing.F) {
	for _, one := range frames() {
		if _, ok := one.head.(*zkproto.RequestHeader); ok {
			f.Add(load(f, one.name)[4:])
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := zkproto.DecodeHeader(frame)
		if len(frame) < zkproto.RequestHeaderSize {
			if !errors.Is(err, zkproto.ErrMalformed) {
				t.Fatalf("got error %v, want ErrMalformed", err)
			}
			return
		}
		if got := append(h.AppendTo(nil), body...); err != nil || !bytes.Equal(got, frame) {
			t.Fatalf("got %x, %v, want %x", got, err, frame)
		}
	})
}

// FuzzReplyHeader reads any bytes as a reply frame.
func FuzzReplyHeader(f *testing.F) {
	for _, one := range frames() {
		if _, ok := one.head.(*zkproto.ReplyHeader); ok {
			f.Add(load(f, one.name)[4:])
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := zkproto.DecodeReply(frame)
		if len(frame) < zkproto.ReplyHeaderSize {
			if !errors.Is(err, zkproto.ErrMalformed) {
				t.Fatalf("got error %v, want ErrMalformed", err)
			}
			return
		}
		if got := append(h.AppendTo(nil), body...); err != nil || !bytes.Equal(got, frame) {
			t.Fatalf("got %x, %v, want %x", got, err, frame)
		}
	})
}

// FuzzReadFrame reads any bytes as a stream of frames and writes them again.
func FuzzReadFrame(f *testing.F) {
	var all []byte
	for _, one := range frames() {
		b := load(f, one.name)
		all = append(all, b...)
		f.Add(b)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 1 << 20
		in := bytes.NewReader(stream)
		var out, buf []byte
		for {
			frame, err := zkproto.ReadFrame(in, buf, limit)
			if err != nil {
				break
			}
			if len(frame) > len(stream) {
				t.Fatalf("frame of %d bytes from a stream of %d", len(frame), len(stream))
			}
			out = zkproto.AppendFrame(out, func(dst []byte) []byte { return append(dst, frame...) })
			buf = frame
		}
		if !bytes.HasPrefix(stream, out) {
			t.Fatalf("got %x, want a prefix of %x", out, stream)
		}
	})
}
