package guard_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/binding/guard"
)

func pages(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	return list
}

// What is on disk is called a whole picture only while it is one: not before all of
// it is written, not while a file of it cannot be read, or be written.
func TestPicture(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(c *guard.Config) { c.Dir = dir }, func(t *testing.T, w *world) {
		mark := filepath.Join(dir, "complete")
		w.lists(iface, ats(11, 13)...)
		w.guard.Complete()
		require.NoFileExists(t, mark, "the list is not on disk yet")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.FileExists(t, mark)
		file := pages(t, dir)[0]

		// It cannot be written.
		require.NoError(t, os.Mkdir(file+".new", 0o700))
		w.lists(iface, ats(11, 14)...)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.NoFileExists(t, mark)
		require.NoError(t, os.Remove(file+".new"))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.FileExists(t, mark)
		w.restart()
		require.True(t, w.guard.Picture())
		w.mkdir(dirOf(iface))
		require.Equal(t, ats(11, 14), w.shown(iface))

		// It cannot be read.
		w.pause()
		require.NoError(t, os.WriteFile(file, nil, 0o600), "as after a crash of the machine")
		w.restart()
		require.False(t, w.guard.Picture(), "the service would be shown without instances")
		require.Empty(t, pages(t, dir))
		w.restart()
		require.False(t, w.guard.Picture(), "nor at the start after that")
		w.lists(iface, ats(11, 12)...)
		w.guard.Complete()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		w.restart()
		require.True(t, w.guard.Picture())
	})
}
