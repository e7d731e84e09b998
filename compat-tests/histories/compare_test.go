package histories_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/histories"
	"zkbridge/compat-tests/wire"
	"zkbridge/zkproto"
)

// What has no order is put in one, and nothing else.
func TestNormalise(t *testing.T) {
	tests := []struct {
		name      string
		got, want wire.Transcript
	}{
		{
			"ephemerals of a session that ended",
			"! b zxid=+5\n! a zxid=+5\n< 1 sync zxid=+5 ok\n! a zxid=+5\n",
			"! a zxid=+5\n! b zxid=+5\n< 1 sync zxid=+5 ok\n! a zxid=+5\n",
		},
		{"events of a multi", "! b zxid=+6\n! a zxid=+6\n", "! b zxid=+6\n! a zxid=+6\n"},
		{"replies", "< b zxid=+5\n< a zxid=+5\n", "< b zxid=+5\n< a zxid=+5\n"},
		{
			"identities behind auth",
			"< ok [world:anyone:1 digest:b:y=:31 digest:a:x=:31 digest:a:x=:1] {}",
			"< ok [world:anyone:1 digest:a:x=:31 digest:b:y=:31 digest:a:x=:1] {}",
		},
		{"other entries", "< ok [ip:b:31 ip:a:31]", "< ok [ip:b:31 ip:a:31]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, histories.Normalise(tt.got, 100, map[int64]bool{105: true}))
		})
	}
}

// Of several differences the earliest is shown, with what is before it.
func TestCompare(t *testing.T) {
	want := wire.Transcript("== A1\n< 1 sync zxid=+1 ok\n< 2 sync zxid=+9 ok\n== B1\n< 1 sync zxid=+2 ok\n< 2 exists ok\n")
	require.Empty(t, histories.Compare(want, want))
	got := wire.Transcript("== A1\n< 1 sync zxid=+1 ok\n< 2 sync zxid=+8 ok\n== B1\n< 1 sync zxid=+2 ok\n")
	require.Equal(t, "== B1\n     < 1 sync zxid=+2 ok\nwant < 2 exists ok\n", histories.Compare(want, got))
	require.NotEmpty(t, histories.Compare("", got))
	require.NotEmpty(t, histories.Compare(got, ""))
	require.NotEmpty(t, histories.Compare(want, want+"== C1\n"))
}

func TestHistoryIsAScript(t *testing.T) {
	exists := histories.Request{Op: zkproto.OpExists, Body: &zkproto.ExistsRequest{Path: "/a", Watch: true}}
	short := exists
	short.Off = 2
	h := histories.History{
		{Client: 1, Kind: histories.Send, Requests: []histories.Request{exists}},
		{Client: 0, Kind: histories.Connect, Requests: []histories.Request{short, {
			Xid: zkproto.XidSetWatches, Op: zkproto.OpSetWatches, Body: &zkproto.SetWatchesRequest{RelativeZxid: 3, Child: []string{"/a"}},
		}}},
		{Client: 0, Kind: histories.CutAndExpire},
	}
	require.Equal(t, `B send exists "/a" watch
A connect
    exists "/a" watch without its last 2 bytes
    setWatches data=[] exist=[] child=["/a"] xid=-8 relative to zxid +3
A cut and expire
`, h.String())
}
