package server_test

import (
	"context"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// smallDisk is a data directory in memory that can be full.
type smallDisk struct {
	full atomic.Bool

	mu    sync.Mutex
	files map[string]*smallFile
}

type smallFile struct {
	d    *smallDisk
	data []byte
}

type unlocked struct{}

func (unlocked) Close() error { return nil }

func (d *smallDisk) Lock() (io.Closer, error) { return unlocked{}, nil }
func (d *smallDisk) SyncNames() error         { return nil }

func (d *smallDisk) Read(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[name]; f != nil {
		return append([]byte(nil), f.data...), nil
	}
	return nil, fs.ErrNotExist
}

func (d *smallDisk) Create(name string) (znode.File, error) {
	if d.full.Load() {
		return nil, syscall.ENOSPC
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[name] = &smallFile{d: d}
	return d.files[name], nil
}

func (d *smallDisk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[to] = d.files[from]
	delete(d.files, from)
	return nil
}

func (d *smallDisk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, name)
	return nil
}

func (f *smallFile) Write(b []byte) (int, error) {
	if f.d.full.Load() {
		return 0, syscall.ENOSPC
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.data = append(f.data, b...)
	return len(b), nil
}

func (f *smallFile) Sync() error  { return nil }
func (f *smallFile) Close() error { return nil }

// TestFullDisk: what has to be on the disk is refused, at once; everything else
// goes on. Whoever was caught in the middle is answered when there is room again, or
// loses the connection after a third of the timeout, not the session.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &smallDisk{files: make(map[string]*smallFile)}
		var told []error
		store, err := znode.StoreConfig{Dir: "data", Disk: d, Trouble: func(err error) { told = append(told, err) }}.Open()
		require.NoError(t, err)
		b := serve(t, options{pipes: true, tree: znode.Config{Store: store}, sessions: sessions.Config{MinTimeout: time.Second, MaxTimeout: time.Hour}})
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		ran := make(chan error, 1)
		go func() { ran <- store.Run(ctx) }()
		defer cancel()
		b.timeout = 30000
		caught, c := b.connect(), b.connect()
		c.create("/p", zkproto.FlagPersistent)
		c.create("/e", zkproto.FlagEphemeral)

		d.full.Store(true)
		caught.send(zkproto.OpCreate, create("/caught", zkproto.FlagPersistent))
		synctest.Wait()
		require.Len(t, told, 1)
		require.ErrorContains(t, told[0], "no space left")
		for op, m := range map[zkproto.OpCode]message{
			zkproto.OpCreate:  create("/refused", zkproto.FlagPersistent),
			zkproto.OpSetData: &zkproto.SetDataRequest{Path: "/p", Version: -1},
			zkproto.OpDelete:  &zkproto.DeleteRequest{Path: "/p", Version: -1},
		} {
			c.fails(zkproto.OperationTimeout, op, m)
		}
		c.create("/e2", zkproto.FlagEphemeral)
		c.setData("/e", 1)
		c.delete("/e")
		require.Equal(t, c.id, c.stat("/e2").EphemeralOwner)
		fresh := b.connect()
		fresh.create("/e3", zkproto.FlagEphemeral)
		fresh.ok(zkproto.OpCloseSession, nil)
		again := b.resume(c)
		require.Equal(t, c.id, again.id, "sessions are resumed")

		time.Sleep(9 * time.Second)
		require.Equal(t, 1, count(b, caught.id), "not yet")
		time.Sleep(3 * time.Second)
		caught.closed()
		require.EqualValues(t, 1, b.server.Stats().Rejected[server.RejectedNotDurable])
		again.send(zkproto.OpExists, &zkproto.ExistsRequest{Path: "/caught"}) // it stands here, but may not be shown
		synctest.Wait()

		d.full.Store(false)
		require.Equal(t, zkproto.OK, again.reply().Err, "there is room: it is")
		synctest.Wait()
		require.Len(t, told, 2)
		require.NoError(t, told[1])
		back := b.resume(caught)
		require.Equal(t, caught.id, back.id)
		back.create("/room", zkproto.FlagPersistent)
		require.NotZero(t, back.stat("/caught").Czxid)
		back.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/refused"})
		b.stop()
		cancel()
		require.NoError(t, <-ran)
		require.NoError(t, store.Close())
	})
}

// count is 1 if a connection carries the session, else 0.
func count(b *bench, id int64) int {
	if s := b.sessions.Lookup(id); s != nil && s.Connected() {
		return 1
	}
	return 0
}
