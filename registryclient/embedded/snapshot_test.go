package embedded_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

// memory is a disk in memory that can fail.
type memory struct {
	mu    sync.Mutex
	file  []byte
	err   error
	saves int
	aside []byte
}

func (m *memory) Load() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil, fs.ErrNotExist
	}
	return m.file, nil
}

func (m *memory) Save(b []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	m.file = b
	m.saves++
	return nil
}

func (m *memory) SetAside() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.aside, m.file = m.file, nil
	return "aside", nil
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.saves
}

func TestSnapshotIsWrittenAfterChangesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		reg := start(t, embedded.Config{Disk: disk})
		for range 10 {
			_, err := reg.Register(service("s"), native("10.0.0.1", 1), time.Minute)
			require.NoError(t, err)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		assert.Equal(t, 1, disk.count(), "ten registrations of one instance within half a second")
		_, err := reg.Register(service("s"), native("10.0.0.2", 1), time.Minute)
		require.NoError(t, err)
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 2, disk.count())
		for range 50 {
			_, err := reg.Heartbeat(service("s"), "10.0.0.1:1")
			require.NoError(t, err)
			time.Sleep(time.Second)
		}
		assert.Equal(t, 2, disk.count(), "heart-beats are not written")
	})
}

func TestRegistryServesWhileItsDiskIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		disk.fail(errors.New("no space left on device"))
		reg := start(t, embedded.Config{Disk: disk})
		w := follow(t, client(t, reg, bridge), service("s"))
		_, err := reg.Register(service("s"), native("10.0.0.1", 1), time.Hour)
		require.NoError(t, err)
		time.Sleep(20 * time.Second)
		w.shows(t, "10.0.0.1:1")
		assert.GreaterOrEqual(t, reg.Stats().SaveErrors, uint64(3))
		assert.True(t, reg.Stats().SavedAt.IsZero())
		disk.fail(nil)
		time.Sleep(6 * time.Second)
		assert.Equal(t, 1, disk.count())
		assert.False(t, reg.Stats().SavedAt.IsZero())
	})
}

func TestDamagedSnapshotIsSetAside(t *testing.T) {
	whole := &memory{}
	func() {
		reg, err := embedded.New(embedded.Config{Disk: whole})
		require.NoError(t, err)
		_, err = reg.Register(service("s"), native("10.0.0.1", 1), time.Hour)
		require.NoError(t, err)
		ctx := canceled(t)
		require.NoError(t, reg.Run(ctx))
	}()
	flipped := append([]byte(nil), whole.file...)
	flipped[len(flipped)/2] ^= 1
	for _, c := range []struct {
		name string
		file []byte
	}{
		{"empty", []byte{}},
		{"not a snapshot", []byte("hello\nworld")},
		{"cut", whole.file[:len(whole.file)-3]},
		{"one bit", flipped},
		{"header only", whole.file[:20]},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := &memory{file: c.file}
			reg, err := embedded.New(embedded.Config{Disk: disk})
			require.NoError(t, err)
			assert.Zero(t, reg.Stats().Services)
			assert.Equal(t, c.file, disk.aside)
		})
	}
	reg, err := embedded.New(embedded.Config{Disk: whole})
	require.NoError(t, err)
	assert.Equal(t, 1, reg.Stats().Services)
}

func TestNewerSnapshotIsRefused(t *testing.T) {
	disk := &memory{file: []byte("zkbridge-registry 2 whatever\n{}")}
	_, err := embedded.New(embedded.Config{Disk: disk})
	require.ErrorContains(t, err, "has format 2 and this program knows format 1")
	require.ErrorContains(t, err, "start the newer program")
	assert.Nil(t, disk.aside)
}

func TestSnapshotKeepsEarlierIncarnations(t *testing.T) {
	disk := &memory{}
	reg, err := embedded.New(embedded.Config{Disk: disk})
	require.NoError(t, err)
	next := bridge
	next.Incarnation = 2
	for _, p := range []rc.Publication{
		{Owner: bridge, Service: service("old"), Generation: 9, Instances: []rc.Instance{native("10.0.0.1", 1)}},
		{Owner: next, Service: service("new"), Generation: 1, Instances: []rc.Instance{native("10.0.0.1", 1)}},
	} {
		_, err := reg.Publish(p, time.Minute)
		require.NoError(t, err)
	}
	require.NoError(t, reg.Run(canceled(t)))

	reg, err = embedded.New(embedded.Config{Disk: disk})
	require.NoError(t, err)
	own, err := reg.OwnServices(next)
	require.NoError(t, err)
	assert.Equal(t, []rc.Service{service("new"), service("old")}, own)
	_, err = reg.Renew(bridge, time.Minute)
	require.ErrorIs(t, err, rc.ErrStale)
	_, err = reg.Publish(rc.Publication{Owner: next, Service: service("old"), Generation: 1}, time.Minute)
	require.NoError(t, err)
	own, err = reg.OwnServices(next)
	require.NoError(t, err)
	assert.Equal(t, []rc.Service{service("new")}, own)
}

func TestDir(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry")
	d, err := embedded.OpenDir(path)
	require.NoError(t, err)
	_, err = d.Load()
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = embedded.OpenDir(path)
	require.ErrorContains(t, err, "in use by another registry: stop that one or choose another directory")

	require.NoError(t, d.Save([]byte("one")))
	require.NoError(t, d.Save([]byte("two")))
	got, err := d.Load()
	require.NoError(t, err)
	assert.Equal(t, "two", string(got))
	left, err := filepath.Glob(filepath.Join(path, "*.new-*"))
	require.NoError(t, err)
	assert.Empty(t, left, "files left behind")

	where, err := d.SetAside()
	require.NoError(t, err)
	aside, err := os.ReadFile(where)
	require.NoError(t, err)
	assert.Equal(t, "two", string(aside))
	_, err = d.Load()
	require.ErrorIs(t, err, fs.ErrNotExist)

	require.NoError(t, d.Close())
	crashed := filepath.Join(path, embedded.SnapshotFile+".new-123")
	require.NoError(t, os.WriteFile(crashed, []byte("half"), 0o600))
	d, err = embedded.OpenDir(path)
	require.NoError(t, err)
	require.NoFileExists(t, crashed)
	require.NoError(t, d.Close())
}
