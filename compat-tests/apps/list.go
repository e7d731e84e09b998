package apps

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// List is a consumer's view: the addresses it would call.
type List struct {
	At        time.Time
	Addresses []string // host:port, sorted
	Detail    string   // what follows the list, such as "interface=1 instance=0"
}

var providers = regexp.MustCompile(`^PROVIDERS \d+ \[([^\]]*)\] ?(.*)$`)

func parseList(line Line) (List, bool) {
	m := providers.FindStringSubmatch(line.Text)
	if m == nil {
		return List{}, false
	}
	list := List{At: line.At, Addresses: strings.Fields(m[1]), Detail: m[2]}
	slices.Sort(list.Addresses)
	return list, true
}

// Lists are the views printed from mark on.
func (a *App) Lists(mark int) []List {
	var lists []List
	for _, line := range a.Lines(mark) {
		if list, ok := parseList(line); ok {
			lists = append(lists, list)
		}
	}
	return lists
}

// List is the view now, empty before the first.
func (a *App) List() List {
	lists := a.Lists(0)
	if len(lists) == 0 {
		return List{}
	}
	return lists[len(lists)-1]
}

// AwaitList waits up to limit until the view is exactly these addresses and
// returns it; the error says what it is instead.
func (a *App) AwaitList(ctx context.Context, limit time.Duration, addresses ...string) (List, error) {
	want := slices.Sorted(slices.Values(addresses))
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		a.mu.Lock()
		more := a.more
		a.mu.Unlock()
		list := a.List()
		if !list.At.IsZero() && slices.Equal(list.Addresses, want) {
			return list, nil
		}
		select {
		case <-more:
		case <-a.process.Done():
			return list, a.process.Ended()
		case <-ctx.Done():
			return list, ctx.Err()
		case <-timer.C:
			return list, fmt.Errorf("the list of %s is %v after %v, want %v", a.Name, list.Addresses, limit, want)
		}
	}
}
