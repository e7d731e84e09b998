package nacostest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/stats"

	"zkbridge/registryclient/nacos/internal/payload"
)

// Options say which Nacos it is. The zero value is 2.3.2 with quick pushes and
// no limit of metadata.
type Options struct {
	PushDelay     time.Duration // 0: 5 ms
	AckTimeout    time.Duration // after which a push that is not acknowledged is repeated; 0: 5 s
	Old           bool          // 2.1: no acknowledgement of the set-up, no batches
	FuzzyWatch    bool          // 3.x
	MetadataLimit int           // 0: none
	User          string        // "": nobody has to log in
	Password      string
	TokenTTL      time.Duration // 0: 5 h
	TLS           *tls.Config   // of gRPC and HTTP; nil: none
}

// Service is the key of a service.
type Service struct{ Namespace, Group, Name string }

// Instance is an instance as Nacos writes it.
type Instance struct {
	IP          string            `json:"ip"`
	Port        int               `json:"port"`
	Weight      float64           `json:"weight"`
	Healthy     bool              `json:"healthy"`
	Enabled     bool              `json:"enabled"`
	Ephemeral   bool              `json:"ephemeral"`
	ClusterName string            `json:"clusterName"`
	Metadata    map[string]string `json:"metadata"`
}

func (i Instance) key() string {
	raw, _ := json.Marshal(i)
	return string(raw)
}

// Call is one request as a client made it.
type Call struct {
	Type    string
	Headers map[string]string
	Body    map[string]any
}

// Server is a fake Nacos server. Safe for concurrent use.
type Server struct {
	opts   Options
	grpcAt string
	httpAt string
	ids    atomic.Int64

	mu       sync.Mutex
	grpc     *grpc.Server
	http     *http.Server
	serving  sync.WaitGroup
	clients  map[*client]bool
	native   map[Service]map[string]Instance
	names    map[Service]bool
	hidden   bool // natives are not listed: they have not come back yet
	snapshot map[Service]snapshot
	configs  map[configKey]string
	tokens   map[string]time.Time
	calls    []Call
	slow     time.Duration
	mute     bool
	refuse   func(Call) (code int, message string)
	forget   func(Call) bool
	overload bool // of fuzzy watches
}

type configKey struct{ tenant, group, dataID string }

type snapshot struct {
	hosts []Instance
	at    int64
}

// client is one TCP connection.
type client struct {
	id string

	// guarded by Server.mu
	ready    bool
	stream   grpc.ServerStream
	sending  *sync.Mutex
	lists    map[Service][]Instance
	follows  map[Service]bool
	patterns map[string]bool
	listens  map[configKey]string
	unacked  map[string]chan struct{}
}

// New makes a server that is up.
func New(t testing.TB, opts Options) *Server {
	t.Helper()
	if opts.PushDelay == 0 {
		opts.PushDelay = 5 * time.Millisecond
	}
	if opts.AckTimeout == 0 {
		opts.AckTimeout = 5 * time.Second
	}
	if opts.TokenTTL == 0 {
		opts.TokenTTL = 5 * time.Hour
	}
	s := &Server{opts: opts, tokens: make(map[string]time.Time)}
	s.forgetLocked()
	s.native = make(map[Service]map[string]Instance)
	s.configs = make(map[configKey]string)
	s.choosePorts(t)
	s.Start(t)
	t.Cleanup(s.Stop)
	return s
}

func (s *Server) forgetLocked() {
	s.clients = make(map[*client]bool)
	s.names = make(map[Service]bool)
	s.snapshot = make(map[Service]snapshot)
}

// choosePorts finds two free ports, one 1000 above the other.
func (s *Server) choosePorts(t testing.TB) {
	t.Helper()
	for range 100 {
		a, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := a.Addr().(*net.TCPAddr).Port
		s.httpAt = a.Addr().String()
		s.grpcAt = net.JoinHostPort("127.0.0.1", strconv.Itoa(port+1000))
		b, err := new(net.ListenConfig).Listen(t.Context(), "tcp", s.grpcAt)
		a.Close()
		if err == nil {
			b.Close()
			return
		}
	}
	t.Fatal("no two free ports")
}

// Addr is the main port, "host:port", as clients are configured with.
func (s *Server) Addr() string { return s.httpAt }

// GRPCAddr is where gRPC is.
func (s *Server) GRPCAddr() string { return s.grpcAt }

// Start starts the server after Stop, with nothing but native instances and
// configurations.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	listen := func(at string) net.Listener {
		deadline := time.Now().Add(5 * time.Second)
		for {
			ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", at)
			if err == nil {
				return ln
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	g, h := listen(s.grpcAt), listen(s.httpAt)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked()
	for svc := range s.native {
		if len(s.native[svc]) > 0 {
			s.names[svc] = true
		}
	}
	options := []grpc.ServerOption{grpc.ForceServerCodec(payload.Codec{}), grpc.StatsHandler(conns{s}), grpc.MaxRecvMsgSize(10 << 20), grpc.MaxSendMsgSize(256 << 20)}
	if s.opts.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.opts.TLS)))
		h = tls.NewListener(h, s.opts.TLS)
	}
	s.grpc = grpc.NewServer(options...)
	s.grpc.RegisterService(&grpc.ServiceDesc{
		ServiceName: "Request", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "request", Handler: s.unary}},
	}, nil)
	s.grpc.RegisterService(&grpc.ServiceDesc{
		ServiceName: "BiRequestStream", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "requestBiStream", ServerStreams: true, ClientStreams: true, Handler: s.streamed}},
	}, nil)
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	gs, hs := s.grpc, s.http
	s.serving.Go(func() { _ = gs.Serve(g) })
	s.serving.Go(func() { _ = hs.Serve(h) })
}

// Stop ends all connections, and with them what they published.
func (s *Server) Stop() {
	s.mu.Lock()
	g, h := s.grpc, s.http
	s.grpc, s.http = nil, nil
	s.mu.Unlock()
	if g == nil {
		return
	}
	g.Stop()
	_ = h.Close()
	s.serving.Wait()
}

// conns follows TCP connections.
type conns struct{ s *Server }

type clientKey struct{}

func (c conns) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	s := c.s
	k := &client{
		id:      fmt.Sprintf("%d_%s", s.ids.Add(1), info.RemoteAddr),
		sending: new(sync.Mutex), lists: make(map[Service][]Instance), follows: make(map[Service]bool),
		patterns: make(map[string]bool), listens: make(map[configKey]string), unacked: make(map[string]chan struct{}),
	}
	s.mu.Lock()
	s.clients[k] = true
	s.mu.Unlock()
	return context.WithValue(ctx, clientKey{}, k)
}

func (c conns) HandleConn(ctx context.Context, e stats.ConnStats) {
	if _, ok := e.(*stats.ConnEnd); !ok {
		return
	}
	k := ctx.Value(clientKey{}).(*client)
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, k)
	for svc := range k.lists {
		s.changedLocked(svc)
	}
}

func (c conns) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (c conns) HandleRPC(context.Context, stats.RPCStats)                       {}

// Connections is the number of clients that are set up.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for k := range s.clients {
		if k.ready {
			n++
		}
	}
	return n
}

// Holdings gives the number of instances of each connection that has any, largest first.
func (s *Server) Holdings() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []int
	for k := range s.clients {
		n := 0
		for _, l := range k.lists {
			n += len(l)
		}
		if n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// Calls gives the requests of one type so far; "" is all.
func (s *Server) Calls(kind string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Call
	for _, c := range s.calls {
		if kind == "" || c.Type == kind {
			list = append(list, c)
		}
	}
	return list
}

// Slow makes every answer so much later.
func (s *Server) Slow(d time.Duration) { s.set(func() { s.slow = d }) }

// Mute makes the server answer nothing, with its connections open, or ends that.
func (s *Server) Mute(on bool) { s.set(func() { s.mute = on }) }

// Refuse asks fn before each request is handled; a code other than 0 is the
// answer's resultCode and errorCode.
func (s *Server) Refuse(fn func(Call) (code int, message string)) { s.set(func() { s.refuse = fn }) }

// Forget makes the server answer 200 to what fn picks, and do nothing.
func (s *Server) Forget(fn func(Call) bool) { s.set(func() { s.forget = fn }) }

// HideNatives makes native instances go, as long as on, as after a restart
// before their applications have come back.
func (s *Server) HideNatives(on bool) {
	s.set(func() {
		s.hidden = on
		for svc := range s.native {
			s.changedLocked(svc)
		}
	})
}

// RefuseFuzzyWatches makes the server answer fuzzy watches with its limit.
func (s *Server) RefuseFuzzyWatches(on bool) { s.set(func() { s.overload = on }) }

// Lose makes the server lose what is published under svc, in silence.
func (s *Server) Lose(svc Service) {
	s.set(func() {
		for k := range s.clients {
			delete(k.lists, svc)
		}
		s.refreshLocked(svc)
	})
}

// Reset asks every client to go to address, "host:port" of a main port, or
// anywhere else if that is empty.
func (s *Server) Reset(address string) {
	host, port, _ := net.SplitHostPort(address)
	s.mu.Lock()
	var streams []*client
	for k := range s.clients {
		if k.ready {
			streams = append(streams, k)
		}
	}
	s.mu.Unlock()
	for _, k := range streams {
		s.push(k, "ConnectResetRequest", map[string]any{"serverIp": host, "serverPort": port})
	}
}

func (s *Server) set(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// Register puts a native instance under svc.
func (s *Server) Register(svc Service, i Instance) {
	s.set(func() {
		if s.native[svc] == nil {
			s.native[svc] = make(map[string]Instance)
		}
		s.native[svc][fmt.Sprint(i.IP, ":", i.Port)] = i
		s.nameLocked(svc)
		s.changedLocked(svc)
	})
}

// RegisterSilently is Register without a push.
func (s *Server) RegisterSilently(svc Service, i Instance) {
	s.set(func() {
		if s.native[svc] == nil {
			s.native[svc] = make(map[string]Instance)
		}
		s.native[svc][fmt.Sprint(i.IP, ":", i.Port)] = i
		s.names[svc] = true
		delete(s.snapshot, svc)
	})
}

// Deregister removes the native instance of that address.
func (s *Server) Deregister(svc Service, ip string, port int) {
	s.set(func() {
		delete(s.native[svc], fmt.Sprint(ip, ":", port))
		s.changedLocked(svc)
	})
}

// Instances gives what the server has under svc now, not what it lists.
func (s *Server) Instances(svc Service) []Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hostsLocked(svc)
}

func (s *Server) nameLocked(svc Service) {
	if s.names[svc] {
		return
	}
	s.names[svc] = true
	for k := range s.clients {
		if k.patterns[svc.Namespace+">>"+svc.Group+">>*"] {
			go s.push(k, "NamingFuzzyWatchChangeNotifyRequest", map[string]any{
				"serviceKey": svc.Namespace + "@@" + svc.Group + "@@" + svc.Name, "changedType": "ADD_SERVICE", "syncType": "FUZZY_WATCH_RESOURCE_CHANGED",
			})
		}
	}
}

func (s *Server) hostsLocked(svc Service) []Instance {
	seen := make(map[string]Instance)
	add := func(i Instance) {
		if i.Enabled {
			seen[i.key()] = i
		}
	}
	if !s.hidden {
		for _, i := range s.native[svc] {
			add(i)
		}
	}
	for k := range s.clients {
		for _, i := range k.lists[svc] {
			add(i)
		}
	}
	list := make([]Instance, 0, len(seen))
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		list = append(list, seen[k])
	}
	return list
}

// changedLocked makes the followers of svc be told after a while. The list that
// queries are answered with is as old until then.
func (s *Server) changedLocked(svc Service) {
	time.AfterFunc(s.opts.PushDelay, func() {
		s.mu.Lock()
		s.refreshLocked(svc)
		var to []*client
		for k := range s.clients {
			if k.follows[svc] {
				to = append(to, k)
			}
		}
		s.mu.Unlock()
		for _, k := range to {
			go s.tell(k, svc)
		}
	})
}

func (s *Server) refreshLocked(svc Service) snapshot {
	old := s.snapshot[svc]
	now := snapshot{s.hostsLocked(svc), max(time.Now().UnixMilli(), old.at)}
	s.snapshot[svc] = now
	return now
}

// infoLocked is what a query is answered with.
func (s *Server) infoLocked(svc Service) map[string]any {
	snap, ok := s.snapshot[svc]
	if !ok {
		snap = s.refreshLocked(svc)
	}
	return info(svc, snap)
}

func info(svc Service, snap snapshot) map[string]any {
	return map[string]any{"name": svc.Name, "groupName": svc.Group, "clusters": "", "cacheMillis": 10000, "hosts": snap.hosts, "lastRefTime": snap.at, "checksum": "", "allIPs": false, "valid": true}
}

// tell pushes the list of svc to k until it is acknowledged.
func (s *Server) tell(k *client, svc Service) {
	for {
		s.mu.Lock()
		here := s.clients[k] && k.follows[svc]
		body := s.infoLocked(svc)
		s.mu.Unlock()
		if !here || s.push(k, "NotifySubscriberRequest", map[string]any{"serviceInfo": body}) {
			return
		}
	}
}

// push sends one request to a client and waits for its answer.
func (s *Server) push(k *client, kind string, body map[string]any) bool {
	id := strconv.FormatInt(s.ids.Add(1), 10)
	body["requestId"] = id
	acked := make(chan struct{})
	s.mu.Lock()
	stream, mute := k.stream, s.mute
	k.unacked[id] = acked
	s.mu.Unlock()
	if stream == nil || mute {
		return stream == nil
	}
	raw, _ := json.Marshal(body)
	k.sending.Lock()
	err := stream.SendMsg(&payload.Payload{Type: kind, Body: raw})
	k.sending.Unlock()
	if err != nil {
		return true
	}
	t := time.NewTimer(s.opts.AckTimeout)
	defer t.Stop()
	select {
	case <-acked:
		return true
	case <-t.C:
		return false
	case <-stream.Context().Done():
		return true
	}
}
