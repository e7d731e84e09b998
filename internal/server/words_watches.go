package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zkbridge/internal/znode"
)

// The words about watches show ZooKeeper's data table alone, as there: watches on
// children are not in it.

// WatchSummary is what wchs tells.
type WatchSummary struct {
	Connections, Paths, Watches int
}

// WatchSummary counts the watches in the data table.
func (s *Server) WatchSummary() WatchSummary {
	st := s.cfg.Tree.Stats()
	return WatchSummary{Connections: st.DataWatchers, Paths: st.DataWatchPaths, Watches: st.DataWatches}
}

// PathsWatched are the paths by the session that watches them, sorted.
func (s *Server) PathsWatched() map[int64][]string {
	by := make(map[int64][]string)
	s.eachWatch(func(session int64, path string) { by[session] = append(by[session], path) })
	for _, paths := range by {
		slices.Sort(paths)
	}
	return by
}

// SessionsWatching are the sessions by the path that they watch, sorted.
func (s *Server) SessionsWatching() map[string][]int64 {
	by := make(map[string][]int64)
	s.eachWatch(func(session int64, path string) { by[path] = append(by[path], session) })
	for _, list := range by {
		slices.SortFunc(list, unsigned)
	}
	return by
}

func (s *Server) eachWatch(fn func(session int64, path string)) {
	s.cfg.Tree.View(func(v *znode.View) {
		v.EachDataWatch(func(path string, w znode.Watcher) {
			if c, ok := w.(*conn); ok {
				if owner := c.carried.Load(); owner != nil {
					fn(owner.ID(), path)
				}
			}
		})
	})
}

// unsigned compares session ids as they are written.
func unsigned(a, b int64) int { return cmp.Compare(uint64(a), uint64(b)) }

func (s *Server) wchs(*conn) string {
	w := s.WatchSummary()
	return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", w.Connections, w.Paths, w.Watches)
}

func (s *Server) wchc(*conn) string {
	by := s.PathsWatched()
	var b strings.Builder
	for _, session := range slices.SortedFunc(maps.Keys(by), unsigned) {
		fmt.Fprintf(&b, "0x%x\n", uint64(session))
		for _, path := range by[session] {
			fmt.Fprintf(&b, "\t%s\n", path)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

func (s *Server) wchp(*conn) string {
	by := s.SessionsWatching()
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(&b, "%s\n", path)
		for _, session := range by[path] {
			fmt.Fprintf(&b, "\t0x%x\n", uint64(session))
		}
	}
	b.WriteByte('\n')
	return b.String()
}
