package zkproto_test

import (
	"fmt"
	"testing"

	"zkbridge/zkproto"
)

func providers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("dubbo%%3A%%2F%%2F192.0.2.%d%%3A20880%%2Fcom.acme.Greeter%%3Fapplication%%3Ddemo%%26side%%3Dprovider", i)
	}
	return list
}

// TestEncodingAllocatesNothing writes every record into a buffer that is large
// enough.
func TestEncodingAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 1<<16)
	for _, f := range frames() {
		if f.body == nil {
			continue
		}
		if got := testing.AllocsPerRun(10, func() { f.body.AppendTo(f.head0(dst)) }); got != 0 {
			t.Errorf("%s: got %v allocations, want none", f.name, got)
		}
	}
}

func (f frame) head0(dst []byte) []byte {
	if f.head == nil {
		return dst
	}
	return f.head.AppendTo(dst)
}

func BenchmarkCreateRequestDecode(b *testing.B) {
	m := &zkproto.CreateRequest{Path: "/dubbo/com.acme.Greeter/providers/" + providers(1)[0], Data: []byte("192.0.2.10"), ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagEphemeral}
	body := m.AppendTo(nil)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var got zkproto.CreateRequest
		if err := got.Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreateRequestAppend(b *testing.B) {
	m := &zkproto.CreateRequest{Path: "/dubbo/com.acme.Greeter/providers/" + providers(1)[0], Data: []byte("192.0.2.10"), ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagEphemeral}
	dst := m.AppendTo(nil)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		dst = m.AppendTo(dst[:0])
	}
}

func BenchmarkGetDataRequestDecode(b *testing.B) {
	body := (&zkproto.GetDataRequest{Path: "/dubbo/com.acme.Greeter/providers"}).AppendTo(nil)
	b.ReportAllocs()
	for b.Loop() {
		var got zkproto.GetDataRequest
		if err := got.Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetChildrenResponse(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		m := &zkproto.GetChildrenResponse{Children: providers(n)}
		body := m.AppendTo(nil)
		b.Run(fmt.Sprintf("append/%d", n), func(b *testing.B) {
			dst := make([]byte, 0, len(body))
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				dst = m.AppendTo(dst[:0])
			}
		})
		b.Run(fmt.Sprintf("decode/%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				var got zkproto.GetChildrenResponse
				if err := got.Decode(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReplyFrame(b *testing.B) {
	h := &zkproto.ReplyHeader{Xid: 7, Zxid: 0x10a}
	m := &zkproto.ExistsResponse{Stat: persistent()}
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		dst = zkproto.AppendFrame(dst[:0], func(dst []byte) []byte { return m.AppendTo(h.AppendTo(dst)) })
	}
}
