package nacos

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	rc "zkbridge/registryclient"
)

// Config is how a Nacos cluster is reached and used. Servers and Owner are
// required; the zero value of everything else is a default.
type Config struct {
	// Servers are the main ports, "host:port" or with http:// or https:// in front,
	// which concerns HTTP only. Without a port it is 8848, and gRPC is 1000 above.
	Servers []string
	Owner   rc.Owner

	Username string // empty: no log-in
	Password string
	TLS      *tls.Config // of gRPC and of https; nil: gRPC in plain text
	HTTPTLS  *tls.Config // of https where TLS is nil; nil: the system's authorities

	GRPCPortOffset int    // from the main port; 0: 1000
	ContextPath    string // of HTTP; "": /nacos
	AppName        string // shown in Nacos's list of clients; "": zkbridge

	// A connection takes no more than this; a longer list lies on several.
	InstancesPerConnection     int // 0: 500
	BytesPerConnection         int // of instances in JSON; 0: 1 MiB
	SubscriptionsPerConnection int // 0: 1000

	// MetadataLimit is the server's limit for the characters of an instance's keys
	// and values; 0: 1024 (nacos.naming.service.metadata.length), below 0: none.
	MetadataLimit int
	// DropMetadata are keys that may be left out, the first ones first, until an
	// instance is within MetadataLimit. One that is not within it then is refused.
	DropMetadata []string

	// Settle is for how long after a connection was made, on which there had been
	// another before, an instance that is missing now is still shown: the time that
	// native applications need to register again. 0: 15 s.
	Settle time.Duration
	// HealthInterval is after how much silence the server is asked whether it is
	// there; Nacos drops a connection after 20 s of silence. 0: 3 s, at most 10 s.
	HealthInterval time.Duration
	// HealthTimeout is how long it may take to answer that. 0: 8 s.
	HealthTimeout time.Duration
	// ConnectTimeout is for each step of making a connection. 0: 10 s.
	ConnectTimeout time.Duration
	// RequestTimeout is for any other request; a connection on which one was not
	// answered by then is given up. 0: 30 s.
	RequestTimeout time.Duration
	// NamesInterval is the time between two lists of services. 0: 1 s. Where the
	// server can tell of new services by itself (3.x) it is ten times that.
	NamesInterval time.Duration
	// VerifyInterval is in which time each service is compared once with what the
	// server has. 0: 2 min.
	VerifyInterval time.Duration
	// InFlight is how many requests wait on one connection at a time when everything is
	// made anew. 0: 64.
	InFlight int
	// ReconnectMin and ReconnectMax bound the pause before the next attempt to
	// connect: full jitter, doubled each time. 0: 200 ms and 5 s.
	ReconnectMin, ReconnectMax time.Duration

	Dial   func(ctx context.Context, address string) (net.Conn, error) // nil: TCP
	Jitter func() float64                                              // in [0, 1); nil: math/rand
	Log    *slog.Logger                                                // nil: silent
}

// MaxMessage is the longest message that is received. A server sends what it
// has to send, however long: 16,000 instances are 16 MB.
const MaxMessage = 128 << 20

// server is one server of the cluster.
type server struct {
	http string // base URL, context path included
	grpc string // host:port
}

// complete gives the configuration with its defaults filled in.
func (c Config) complete() (Config, []server, error) {
	if o := c.Owner; o.Cluster == "" || o.Bridge == 0 || o.Incarnation == 0 {
		return c, nil, errors.New("a Nacos client needs an owner with cluster, bridge and incarnation")
	}
	for _, d := range []struct {
		v     *time.Duration
		value time.Duration
	}{
		{&c.Settle, 15 * time.Second},
		{&c.HealthInterval, 3 * time.Second},
		{&c.HealthTimeout, 8 * time.Second},
		{&c.ConnectTimeout, 10 * time.Second},
		{&c.RequestTimeout, 30 * time.Second},
		{&c.NamesInterval, time.Second},
		{&c.VerifyInterval, 2 * time.Minute},
		{&c.ReconnectMin, 200 * time.Millisecond},
		{&c.ReconnectMax, 5 * time.Second},
	} {
		if *d.v == 0 {
			*d.v = d.value
		}
		if *d.v < 0 {
			return c, nil, fmt.Errorf("a Nacos client cannot work with a time of %v", *d.v)
		}
	}
	if c.HealthInterval > 10*time.Second {
		return c, nil, fmt.Errorf("a health check each %v is too rare: Nacos drops a connection after 20 s of silence", c.HealthInterval)
	}
	for _, d := range []struct {
		v     *int
		value int
	}{
		{&c.GRPCPortOffset, 1000},
		{&c.InstancesPerConnection, 500},
		{&c.BytesPerConnection, 1 << 20},
		{&c.SubscriptionsPerConnection, 1000},
		{&c.MetadataLimit, 1024},
		{&c.InFlight, 64},
	} {
		if *d.v == 0 {
			*d.v = d.value
		}
	}
	if c.ContextPath == "" {
		c.ContextPath = "/nacos"
	}
	if c.AppName == "" {
		c.AppName = "zkbridge"
	}
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	servers := make([]server, 0, len(c.Servers))
	for _, s := range c.Servers {
		parsed, err := c.server(s)
		if err != nil {
			return c, nil, err
		}
		servers = append(servers, parsed)
	}
	if len(servers) == 0 {
		return c, nil, errors.New("a Nacos client needs the address of a server, such as 10.0.0.1:8848")
	}
	return c, servers, nil
}

// DefaultPort is Nacos's main port.
const DefaultPort = 8848

func (c Config) server(s string) (server, error) {
	scheme, rest, found := strings.Cut(strings.TrimSpace(s), "://")
	if !found {
		scheme, rest = "http", scheme
	}
	if scheme != "http" && scheme != "https" {
		return server{}, fmt.Errorf("the Nacos server %q is neither host:port nor an http or https URL", s)
	}
	host, port := strings.TrimSuffix(rest, "/"), strconv.Itoa(DefaultPort)
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if grpc := int(n) + c.GRPCPortOffset; err != nil || n == 0 || grpc < 1 || grpc > 65535 || host == "" || strings.ContainsAny(host, "/ ") {
		return server{}, fmt.Errorf("the Nacos server %q has no usable host and port (gRPC is %d above the main port)", s, c.GRPCPortOffset)
	}
	host = strings.Trim(host, "[]")
	base := url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port), Path: c.ContextPath}
	return server{http: base.String(), grpc: net.JoinHostPort(host, strconv.Itoa(int(n)+c.GRPCPortOffset))}, nil
}
