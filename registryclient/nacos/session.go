package nacos

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"zkbridge/registryclient/nacos/internal/payload"
)

// Modules of a connection: naming requests are refused on one that was not made
// for naming.
const (
	moduleNaming = "naming"
	moduleConfig = "config"
)

// clientVersion is what we say we are. Servers decide by it who may do what; this
// is the form that their own clients use.
const clientVersion = "Nacos-Go-Client:v2.3.0"

// session is one connection to one server, set up and alive until done is
// closed. To the server it is a client of its own.
type session struct {
	// set at construction
	id        uint64 // never the same in one Client; 0 is none
	server    server
	module    string
	tenant    string
	born      time.Time
	cc        *grpc.ClientConn
	stream    grpc.ClientStream
	timeout   time.Duration // of a request
	token     *tokens
	counters  *counters
	handle    func(*session, string, *push, []byte) // called by the reader, serially
	abilities chan map[string]bool                  // one value at most: the server's
	done      chan struct{}
	reading   sync.WaitGroup
	reset     chan string // where the server wants us to go, "" is anywhere
	can       map[string]bool

	answered atomic.Int64 // when a request was answered last, UnixNano

	sending sync.Mutex // of stream.SendMsg

	mu  sync.Mutex
	err error // why it ended
}

// errGone is why a session ended that we closed ourselves.
var errGone = errors.New("the connection was closed by this client")

// connect makes a session with one server: server check, set-up, and the
// server's acknowledgement where it sends one. handle gets what the server sends
// by itself, once it has been acknowledged.
func (c *Client) connect(ctx context.Context, to server, module, tenant string, handle func(*session, string, *push, []byte)) (*session, error) {
	creds := insecure.NewCredentials()
	if c.cfg.TLS != nil {
		creds = credentials.NewTLS(c.tlsFor(to))
	}
	cc, err := grpc.NewClient("passthrough:///"+to.grpc,
		grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(c.cfg.Dial),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
		grpc.WithReadBufferSize(16<<10),
		grpc.WithWriteBufferSize(16<<10),
		grpc.WithInitialWindowSize(1<<20), // a push of a large list is one message
		grpc.WithInitialConnWindowSize(1<<20),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(payload.Codec{}), grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithNoProxy(),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", to.grpc, err)
	}
	s := &session{
		id: c.sessions.Add(1), server: to, module: module, tenant: tenant, born: time.Now(), cc: cc, timeout: c.cfg.RequestTimeout,
		token: c.tokens, counters: &c.counters, handle: handle,
		abilities: make(chan map[string]bool, 1), done: make(chan struct{}), reset: make(chan string, 1),
	}
	if err := c.setUp(ctx, s); err != nil {
		s.close(err)
		return nil, fmt.Errorf("connect to %s: %w", to.grpc, err)
	}
	return s, nil
}

func (c *Client) tlsFor(to server) *tls.Config {
	cfg := c.cfg.TLS.Clone()
	if cfg.ServerName == "" {
		if host, _, err := net.SplitHostPort(to.grpc); err == nil {
			cfg.ServerName = host
		}
	}
	return cfg
}

func (c *Client) setUp(ctx context.Context, s *session) error {
	if err := c.tokens.ensure(ctx, s.server); err != nil {
		return err
	}
	checking, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	check, err := s.call(checking, "ServerCheckRequest", struct{}{})
	if err != nil {
		return fmt.Errorf("server check: %w", err)
	}
	streaming, end := context.WithCancel(context.WithoutCancel(ctx))
	s.stream, err = s.cc.NewStream(streaming, &grpc.StreamDesc{StreamName: "requestBiStream", ServerStreams: true, ClientStreams: true}, payload.MethodStream)
	if err != nil {
		end()
		return fmt.Errorf("open the stream: %w", err)
	}
	s.reading.Go(func() {
		defer end()
		s.read()
	})
	setup := connectionSetupRequest{
		ClientVersion: clientVersion, Tenant: s.tenant,
		Labels:       map[string]string{"source": "sdk", "module": s.module, "AppName": c.cfg.AppName},
		AbilityTable: map[string]bool{"supportPersistentInstanceByGrpc": true, "fuzzyWatch": true},
	}
	if err := s.send("ConnectionSetupRequest", setup); err != nil {
		return fmt.Errorf("set-up: %w", err)
	}
	// A server from 2.3.0 on says when it knows us; a request before that would be
	// refused. An older one says nothing: what it refuses is tried again.
	wait := 100 * time.Millisecond
	if check.SupportAbilityNegotiation {
		wait = c.cfg.ConnectTimeout
	}
	acknowledged := time.NewTimer(wait)
	defer acknowledged.Stop()
	select {
	case s.can = <-s.abilities:
	case <-acknowledged.C:
		if check.SupportAbilityNegotiation {
			return fmt.Errorf("the server has not acknowledged the set-up within %v", wait)
		}
	case <-s.done:
		return fmt.Errorf("set-up: %w", s.why())
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// fail ends the session because of err. The first reason counts.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	close(s.done)
	_ = s.cc.Close() // ends the TCP connection, which is what tells the server
}

// close ends the session and waits for its reader.
func (s *session) close(why error) {
	s.fail(why)
	s.reading.Wait()
}

func (s *session) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *session) alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// call makes one request. A refusal is a *refusal; any other error means that
// the outcome is not known. One that is not answered in the session's time, or to which
// the server answers that it does not know us, ends the session.
func (s *session) call(ctx context.Context, kind string, body any) (answer, error) {
	a, err := s.exchange(ctx, kind, body, s.timeout)
	var no *refusal
	if !errors.As(err, &no) || !no.is(codeForbidden, codeUnauthorized) || !s.token.used() {
		return a, err
	}
	// The token may have expired early: the server was restarted, or its clock is
	// another.
	if err := s.token.renew(ctx, s.server); err != nil {
		return a, no
	}
	return s.exchange(ctx, kind, body, s.timeout)
}

func (s *session) exchange(ctx context.Context, kind string, body any, timeout time.Duration) (answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", kind, err)
	}
	s.counters.requestsTotal.Add(1)
	in := payload.Payload{Type: kind, Headers: s.token.headers(), Body: raw}
	var out payload.Payload
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = s.cc.Invoke(limited, payload.MethodRequest, &in, &out)
	if err != nil {
		s.counters.requestsFailed.Add(1)
		switch {
		case ctx.Err() != nil:
			return answer{}, ctx.Err()
		case limited.Err() != nil:
			s.counters.requestsTimedOut.Add(1)
			err = fmt.Errorf("%s: no answer within %v", kind, timeout)
			s.fail(err) // else it might take effect after a later one
		case s.alive() && broken(err):
			s.fail(fmt.Errorf("%s: %w", kind, err))
		}
		return answer{}, fmt.Errorf("%s: %w", kind, err)
	}
	s.answered.Store(time.Now().UnixNano())
	a := answer{}
	if err := json.Unmarshal(out.Body, &a); err != nil {
		s.counters.requestsFailed.Add(1)
		return answer{}, fmt.Errorf("%s: answered with %s, which is no JSON: %w", kind, out.Type, err)
	}
	if a.ResultCode != 200 {
		s.counters.requestsFailed.Add(1)
		no := &refusal{a.response, out.Type}
		if no.lost() && kind != "ServerCheckRequest" {
			s.fail(no)
		}
		return a, no
	}
	return a, nil
}

// broken tells whether the transport is of no more use after an error. A request
// that is too long is answered with a reset of its stream only.
func broken(err error) bool { return status.Code(err) == codes.Unavailable }

// send sends one message on the stream.
func (s *session) send(kind string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.stream.SendMsg(&payload.Payload{Type: kind, Headers: s.token.headers(), Body: raw})
}

// read reads the stream until it ends.
func (s *session) read() {
	for {
		var p payload.Payload
		if err := s.stream.RecvMsg(&p); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the server has ended the stream (it may be at its limit of connections, or have taken us for dead)")
			}
			s.fail(err)
			return
		}
		if err := s.receive(&p); err != nil {
			s.fail(err)
			return
		}
	}
}

// receive acknowledges what the server sends and hands it on. What it is about
// is read first, what it says only when the service's turn comes.
func (s *session) receive(p *payload.Payload) error {
	var m push
	if p.Type == "NotifySubscriberRequest" {
		// The list itself is read later: here it would delay the next answer.
		var head struct {
			RequestID   string `json:"requestId"`
			ServiceInfo struct {
				Name      string `json:"name"`
				GroupName string `json:"groupName"`
			} `json:"serviceInfo"`
		}
		if err := json.Unmarshal(p.Body, &head); err != nil {
			return fmt.Errorf("a push that cannot be read: %w", err)
		}
		m.RequestID = head.RequestID
		m.ServiceInfo = &serviceInfo{Name: head.ServiceInfo.Name, GroupName: head.ServiceInfo.GroupName}
	} else if err := json.Unmarshal(p.Body, &m); err != nil {
		return fmt.Errorf("a %s that cannot be read: %w", p.Type, err)
	}
	switch p.Type {
	case "SetupAckRequest":
		select {
		case s.abilities <- m.AbilityTable:
		default:
		}
		return nil // wants no answer
	case "NotifySubscriberRequest", "ClientDetectionRequest", "ConnectResetRequest", "ConfigChangeNotifyRequest",
		"NamingFuzzyWatchSyncRequest", "NamingFuzzyWatchChangeNotifyRequest":
		yes := response{ResultCode: 200, RequestID: m.RequestID}
		if err := s.send(strings.TrimSuffix(p.Type, "Request")+"Response", yes); err != nil {
			return fmt.Errorf("answer a %s: %w", p.Type, err)
		}
	}
	if p.Type == "ConnectResetRequest" {
		select {
		case s.reset <- m.target():
		default:
		}
		return nil
	}
	s.handle(s, p.Type, &m, p.Body)
	return nil
}

// target is where a ConnectResetRequest wants us to go, "" if it does not say.
func (m *push) target() string {
	port := strings.Trim(string(m.ServerPort), `" `)
	if m.ServerIP == "" || port == "" || port == "null" {
		return ""
	}
	return net.JoinHostPort(m.ServerIP, port)
}

// check asks the server whether it is there whenever it has been silent for
// interval, until the session ends.
func (s *session) check(ctx context.Context, interval, timeout time.Duration) {
	t := time.NewTimer(interval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-s.done:
			return
		case <-ctx.Done():
			return
		}
		quiet := time.Since(time.Unix(0, s.answered.Load()))
		if quiet >= interval {
			asking, cancel := context.WithTimeout(ctx, timeout)
			_, err := s.exchange(asking, "HealthCheckRequest", struct {
				Module string `json:"module"`
			}{"internal"}, 2*timeout)
			late := asking.Err() != nil
			cancel()
			switch silent := time.Since(time.Unix(0, s.answered.Load())); {
			case err == nil || ctx.Err() != nil || !s.alive():
			case late && silent < timeout: // other requests were answered
			case late:
				s.counters.healthFailures.Add(1)
				s.fail(fmt.Errorf("the server has not answered for %v", silent.Round(time.Millisecond)))
			default:
				s.counters.healthFailures.Add(1)
				s.fail(fmt.Errorf("health check: %w", err))
			}
			quiet = 0
		}
		t.Reset(interval - quiet)
	}
}
