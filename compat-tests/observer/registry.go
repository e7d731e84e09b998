package observer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Registry follows the lists of a registry's HTTP API: the names of a group's
// services, and the list of each service that is a Dubbo interface.
type Registry struct {
	URL       string // base URL, no slash at its end
	Token     string // bearer token, if the registry wants one
	Namespace string
	Group     string
	Services  []string // followed from the start, others when their names appear
	To        Recorder
}

// Run follows until ctx ends, reconnecting whenever the registry goes away. An
// event that it does not understand is an error.
func (r *Registry) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var services sync.WaitGroup
	defer services.Wait()
	followed := map[string]bool{}
	begin := func(name string) {
		service, ok := strings.CutPrefix(name, "providers:")
		if !ok || followed[name] {
			return
		}
		followed[name] = true
		services.Go(func() {
			if err := r.followService(ctx, name, service); err != nil {
				cancel(err)
			}
		})
	}
	for _, name := range r.Services {
		begin(name)
	}
	err := r.follow(ctx, r.group()+"/watch", func(event string, data []byte) error {
		if event != "names" {
			return nil
		}
		var names struct {
			Names []string `json:"names"`
		}
		if err := json.Unmarshal(data, &names); err != nil {
			return err
		}
		for _, name := range names.Names {
			begin(name)
		}
		return nil
	}, func() {})
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

func (r *Registry) group() string {
	return r.URL + "/v1/namespaces/" + url.PathEscape(r.Namespace) + "/groups/" + url.PathEscape(r.Group)
}

// followService records the lists of one service.
func (r *Registry) followService(ctx context.Context, name, service string) error {
	return r.follow(ctx, r.group()+"/services/"+url.PathEscape(name)+"/watch?all=true", func(event string, data []byte) error {
		if event != "instances" {
			return nil
		}
		var list struct {
			Instances []struct {
				IP      string `json:"ip"`
				Port    int    `json:"port"`
				Enabled bool   `json:"enabled"`
				Owner   string `json:"owner"`
			} `json:"instances"`
		}
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		now := time.Now()
		var items []Item
		for _, i := range list.Instances {
			if i.Enabled {
				items = append(items, Item{Address: net.JoinHostPort(i.IP, strconv.Itoa(i.Port)), Native: i.Owner == ""})
			}
		}
		slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.Address, b.Address) })
		r.To.Record(Event{At: now, Asked: now, Kind: List, Side: RegistrySide, Service: service, Items: items})
		return nil
	}, func() {
		r.To.Record(Event{At: time.Now(), Kind: Blind, Side: RegistrySide, Service: service})
	})
}

// follow reads a stream of server-sent events until ctx ends, opening it again
// whenever it breaks; broken is called each time that it does. Only an error of
// take ends it earlier.
func (r *Registry) follow(ctx context.Context, from string, take func(event string, data []byte) error, broken func()) error {
	for {
		opened, err := r.stream(ctx, from, take)
		if ctx.Err() != nil {
			return nil
		}
		if opened {
			broken()
		}
		if misread := (*misreadError)(nil); errors.As(err, &misread) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// misreadError is an event that was not understood.
type misreadError struct {
	event string
	err   error
}

func (e *misreadError) Error() string { return "read an event " + e.event + ": " + e.err.Error() }
func (e *misreadError) Unwrap() error { return e.err }

// stream reads one connection's events. Any other error than a misreadError says
// that the registry is away.
func (r *Registry) stream(ctx context.Context, from string, take func(event string, data []byte) error) (opened bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return false, err
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return false, fmt.Errorf("GET %s: %s", from, res.Status)
	}
	var event string
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			event = value
		case "data":
			if err := take(event, []byte(value)); err != nil {
				return true, &misreadError{event: event, err: err}
			}
		}
	}
	return true, lines.Err()
}
