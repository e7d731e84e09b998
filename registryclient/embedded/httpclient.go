package embedded

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	rc "zkbridge/registryclient"
)

// HTTPClientConfig makes an HTTPClient.
type HTTPClientConfig struct {
	Address string        // "host:port", or a URL with http or https; default DefaultListen
	Token   string        // sent with every request, if not empty
	Timeout time.Duration // of one call, not of a watch; default 5 s
	// Silence ends a watch of which nothing was heard for so long. The registry
	// sends something every five seconds. Default 15 s.
	Silence time.Duration
	// Dial opens connections; default is a net.Dialer with a time-out of 2 s.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// maxAnswer is the longest answer or event that a client reads, in bytes.
const maxAnswer = 256 << 20

// HTTPClient is the typed form of the HTTP API, for command lines and native
// applications. Its errors are *registryclient.Error; inside is a *Problem if
// the registry answered. Safe for concurrent use.
type HTTPClient struct {
	base    string
	token   string
	timeout time.Duration
	silence time.Duration
	http    *http.Client
}

// NewHTTPClient makes a client. It opens no connection yet.
func NewHTTPClient(cfg HTTPClientConfig) (*HTTPClient, error) {
	if cfg.Address == "" {
		cfg.Address = DefaultListen
	}
	if !strings.Contains(cfg.Address, "://") {
		cfg.Address = "http://" + cfg.Address
	}
	u, err := url.Parse(cfg.Address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &rc.Error{Op: "new client", Kind: rc.Invalid, Err: fmt.Errorf("the registry's address %q is neither host:port nor an http or https URL", cfg.Address)}
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 5 * time.Second
	}
	if cfg.Silence <= 0 {
		cfg.Silence = 15 * time.Second
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: 2 * time.Second}).DialContext
	}
	return &HTTPClient{
		base: strings.TrimSuffix(u.String(), "/"), token: cfg.Token, timeout: cfg.Timeout, silence: cfg.Silence,
		http: &http.Client{Transport: &http.Transport{DialContext: cfg.Dial, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, DisableCompression: true}},
	}, nil
}

// Close closes idle connections.
func (c *HTTPClient) Close() { c.http.CloseIdleConnections() }

// Status gives what the registry says about itself.
func (c *HTTPClient) Status(ctx context.Context) (s Status, err error) {
	return s, c.call(ctx, "status", rc.Service{}, "GET", "/v1/status", nil, &s)
}

// Services lists the services of a group, or of all namespaces and groups when both are
// empty.
func (c *HTTPClient) Services(ctx context.Context, namespace, group string) ([]ServiceInfo, error) {
	path := "/v1/services"
	if namespace != "" || group != "" {
		path = groupURL(groupKey{namespace, group}) + "/services"
	}
	var l ServiceList
	err := c.call(ctx, "services", rc.Service{Namespace: namespace, Group: group}, "GET", path, nil, &l)
	return l.Services, err
}

// Instances lists the instances of a service as native readers see them, or, with
// all, every record.
func (c *HTTPClient) Instances(ctx context.Context, s rc.Service, all bool) (l InstanceList, err error) {
	return l, c.call(ctx, "instances", s, "GET", serviceURL(s)+"/instances"+allQuery(all), nil, &l)
}

// Register registers a native instance, or replaces it; repeating it is a
// heart-beat.
func (c *HTTPClient) Register(ctx context.Context, s rc.Service, ip string, port int, g Registration) (r Registered, err error) {
	return r, c.call(ctx, "register", s, "PUT", instanceURL(s, ip, port), g, &r)
}

// Heartbeat keeps a native instance. NotFound: it has to be registered again.
func (c *HTTPClient) Heartbeat(ctx context.Context, s rc.Service, ip string, port int) (r Registered, err error) {
	return r, c.call(ctx, "heartbeat", s, "POST", instanceURL(s, ip, port)+"/heartbeat", nil, &r)
}

// Deregister removes a native instance.
func (c *HTTPClient) Deregister(ctx context.Context, s rc.Service, ip string, port int) error {
	return c.call(ctx, "deregister", s, "DELETE", instanceURL(s, ip, port), nil, nil)
}

// Watch calls fn with the list of a service and with each newer one. It returns
// nil when ctx ends, and an error when the connection is lost.
func (c *HTTPClient) Watch(ctx context.Context, s rc.Service, all bool, fn func(InstanceList)) error {
	return c.stream(ctx, "watch", s, serviceURL(s)+"/watch"+allQuery(all), "", func(e event) error {
		if e.name != "instances" {
			return nil
		}
		var l InstanceList
		if err := json.Unmarshal(e.data, &l); err != nil {
			return err
		}
		fn(l)
		return nil
	})
}

func allQuery(all bool) string {
	if all {
		return "?all=true"
	}
	return ""
}

func groupURL(k groupKey) string {
	return "/v1/namespaces/" + url.PathEscape(k.namespace) + "/groups/" + url.PathEscape(k.group)
}

func serviceURL(s rc.Service) string {
	return groupURL(groupOf(s)) + "/services/" + url.PathEscape(s.Name)
}

func instanceURL(s rc.Service, ip string, port int) string {
	return serviceURL(s) + "/instances/" + url.PathEscape(net.JoinHostPort(ip, strconv.Itoa(port)))
}

func ownerURL(o rc.Owner) string {
	return "/v1/owners/" + url.PathEscape(o.Cluster) + "/" + strconv.Itoa(int(o.Bridge))
}

// call makes one request. in, if not nil, is its body, out takes the answer.
func (c *HTTPClient) call(ctx context.Context, op string, s rc.Service, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return &rc.Error{Op: op, Service: s, Kind: rc.Invalid, Err: err}
		}
		body = bytes.NewReader(b)
	}
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	resp, err := c.do(within, method, path, body, "")
	if err != nil {
		return c.lost(ctx, op, s, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.lost(ctx, op, s, err)
	}
	if resp.StatusCode >= 300 {
		return answered(op, s, resp.StatusCode, answer)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			return c.lost(ctx, op, s, fmt.Errorf("the answer is not the registry's: %w", err))
		}
	}
	return nil
}

func (c *HTTPClient) do(ctx context.Context, method, path string, body io.Reader, lastID string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	return c.http.Do(req)
}

// lost makes the error of a request that got no good answer; if the caller's
// context has ended, it is the context's.
func (c *HTTPClient) lost(ctx context.Context, op string, s rc.Service, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) { // it repeats method and URL
		err = u.Err
	}
	return &rc.Error{Op: op, Service: s, Kind: rc.Unavailable, Err: fmt.Errorf("%s: %w", c.base, err)}
}

// answered makes the error that the registry answered.
func answered(op string, s rc.Service, status int, body []byte) error {
	var p Problem
	if json.Unmarshal(body, &p) == nil {
		if class, known := classes[p.Code]; known {
			return &rc.Error{Op: op, Service: s, Kind: class.kind, Err: &p}
		}
	}
	kind := rc.Unavailable
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		kind = rc.Denied
	case status < 500:
		kind = rc.Invalid
	}
	return &rc.Error{Op: op, Service: s, Kind: kind, Err: fmt.Errorf("answered %d %s without saying why: is this the registry's address?", status, http.StatusText(status))}
}

// event is one server-sent event. Its data is valid until the callback returns.
type event struct {
	name, id string
	data     []byte
}

// stream reads events until ctx ends (nil) or the connection is lost, silent
// too long, or fn fails.
func (c *HTTPClient) stream(ctx context.Context, op string, s rc.Service, path, lastID string, fn func(event) error) error {
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(c.silence, func() { cancel(fmt.Errorf("nothing heard for %v", c.silence)) })
	defer watchdog.Stop()

	err := func() error {
		resp, err := c.do(reading, "GET", path, nil, lastID)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
			return answered(op, s, resp.StatusCode, body)
		}
		return readEvents(resp.Body, func() { watchdog.Reset(c.silence) }, fn)
	}()
	var known *rc.Error
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.As(err, &known):
		return err
	case reading.Err() != nil:
		err = context.Cause(reading)
	}
	return c.lost(ctx, op, s, err)
}

// readEvents reads an event stream to its end, which is an error. alive is
// called for every line.
func readEvents(from io.Reader, alive func(), fn func(event) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 16<<10), maxAnswer)
	var e event
	for lines.Scan() {
		alive()
		line := lines.Bytes()
		if len(line) == 0 {
			if e.name != "" || e.data != nil {
				if err := fn(e); err != nil {
					return err
				}
			}
			e = event{}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = string(value)
		case "id":
			e.id = string(value)
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}
