package guard_test

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/zkproto"
)

// events counts what a directory's watchers are told.
type events struct{ list []zkproto.EventType }

func (e *events) Notify(ev *znode.Event) { e.list = append(e.list, ev.Type) }

// watch follows the children of a directory for good.
func (w *world) watch(dir string) *events {
	e := &events{}
	w.tree.Arm(func(v *znode.View) { v.Watch(e, dir, znode.WatchPersistent) })
	return e
}

// TestReport32ReconnectStorm: a link that comes and goes changes nothing, and what
// an operator has disabled stays out.
func TestReport32ReconnectStorm(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		off := native(iface, at(19))
		off.Enabled = false
		list := []registryclient.Instance{native(iface, at(11)), native(iface, at(12)), off}
		w.guard.Import(serviceOf(iface), list)
		seen := w.watch(dirOf(iface))
		for range 60 {
			w.guard.Link(false)
			time.Sleep(time.Second)
			w.guard.Link(true)
			w.guard.Import(serviceOf(iface), list)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		require.Equal(t, ats(11, 12), w.shown(iface))
		require.Empty(t, seen.list)
	})
}

// TestReport34OldAndNewNode: two nodes of one ip and port are one instance until
// both are gone.
func TestReport34OldAndNewNode(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		c := w.connect(timeout)
		w.mkdir(dirOf(iface))
		var paths []string
		for _, ts := range []string{"1", "2"} {
			path := dirOf(iface) + "/" + url.QueryEscape("dubbo://"+at(1)+"/"+iface+"?application=a&interface="+iface+"&timestamp="+ts)
			paths = append(paths, path)
			require.NoError(t, w.do(c.session.ID(), func(x *znode.Tx) error {
				_, _, err := x.Create(znode.Create{Path: path, ACL: zkproto.WorldAnyone(), Kind: znode.Ephemeral, Owner: c.session.ID()})
				return err
			}))
		}
		require.Equal(t, []string{at(1)}, w.published(iface))
		require.NoError(t, w.remove(paths[0]))
		require.Equal(t, []string{at(1)}, w.published(iface))
		require.NoError(t, w.remove(paths[1]))
		require.Empty(t, w.published(iface))
	})
}

// TestReport36AListReplaces: every list is the whole list. What went between two is
// gone, with one event.
func TestReport36AListReplaces(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.lists(iface, at(11), at(12))
		seen := w.watch(dirOf(iface))
		w.lists(iface, at(11))
		require.Equal(t, []string{at(11)}, w.shown(iface))
		require.Equal(t, []zkproto.EventType{zkproto.EventChildrenChanged}, seen.list)
		require.Empty(t, w.guard.Held())
	})
}

// TestReport39Flash: {5} -> {} -> {5} within ten seconds, five sessions that expire
// in one second, and five that are closed: the first costs no more than the cap and
// no list, the second nothing, the third is what the clients want.
func TestReport39Flash(t *testing.T) {
	t.Run("the registry is empty for a moment", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			w.lists(iface, ats(11, 15)...)
			w.lists(iface)
			require.GreaterOrEqual(t, len(w.shown(iface)), 3)
			time.Sleep(9 * time.Second)
			synctest.Wait()
			require.GreaterOrEqual(t, len(w.shown(iface)), 3)
			w.lists(iface, ats(11, 15)...)
			require.Equal(t, ats(11, 15), w.shown(iface))
		})
	})
	t.Run("five sessions expire in one second", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			list := w.providers(5, together)
			seen := w.watch(dirOf("com.x.S"))
			for _, c := range list {
				silence(c)
				time.Sleep(200 * time.Millisecond)
			}
			time.Sleep(3 * timeout)
			synctest.Wait()
			require.Len(t, w.shown("com.x.S"), 5)
			require.Empty(t, seen.list)
		})
	})
	t.Run("five are closed", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			list := w.providers(5, together)
			for _, c := range list {
				c.close()
			}
			require.Empty(t, w.shown("com.x.S"))
			require.Empty(t, w.guard.Held())
		})
	})
}

// TestReport65OneEventAList: however much of a list changes, its directory changes
// once.
func TestReport65OneEventAList(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.lists(iface, ats(11, 20)...)
		seen := w.watch(dirOf(iface))
		w.lists(iface, ats(13, 23)...)
		require.Equal(t, ats(13, 23), w.shown(iface))
		require.Equal(t, []zkproto.EventType{zkproto.EventChildrenChanged}, seen.list)
	})
}
