package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// served are the four-letter words that this bridge can answer.
var served = []string{
	"conf", "cons", "crst", "dirs", "dump", "envi", "gtmk", "hash", "isro", "mntr", "ruok", "srst", "srvr", "stat", "stmk", "wchc", "wchp", "wchs",
}

var superDigest = regexp.MustCompile(`^[^:]*:[A-Za-z0-9+/]{27}=$`)

var segment = regexp.MustCompile(`^(\{[a-z][a-zA-Z0-9]*\}|[^{}/]+)$`)

// Validate lists every problem, each with the path of its key, joined.
func (c Config) Validate() error {
	var problems []error
	bad := func(key, format string, args ...any) {
		problems = append(problems, fmt.Errorf("  %s: %s", key, fmt.Sprintf(format, args...)))
	}
	if c.Bridge.ID < 1 || c.Bridge.ID > 254 || c.Bridge.ID == 128 {
		bad("bridge.id", "%d is not between 1 and 254 (and not 128, which would look like ZooKeeper's container nodes)", c.Bridge.ID)
	}
	if c.Bridge.Cluster != "" && !regexp.MustCompile(`^[A-Za-z0-9]{1,16}$`).MatchString(c.Bridge.Cluster) {
		bad("bridge.cluster", "%q is not 1 to 16 letters and digits", c.Bridge.Cluster)
	}
	if len(c.Bridge.Peers) > 0 {
		bad("bridge.peers", "several bridges behind one connect string are not supported yet; leave the list empty and run one bridge")
	}
	if c.Data.Dir == "" {
		bad("data.dir", "is empty; persistent znodes and the zxid clock need a directory")
	}
	c.validateServer(bad)
	c.validateTLS(bad)
	c.validateRegistry(bad)
	c.validateGuard(bad)
	c.validateSpaces(bad)
	if c.Admin.Listen != "" {
		address(bad, "admin.listen", c.Admin.Listen)
	}
	if err := new(slog.Level).UnmarshalText([]byte(c.Log.Level)); err != nil {
		bad("log.level", "%q is not debug, info, warn or error", c.Log.Level)
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		bad("log.format", "%q is not text or json", c.Log.Format)
	}
	return errors.Join(problems...)
}

type reporter func(key, format string, args ...any)

func (c Config) validateServer(bad reporter) {
	s := c.Server
	address(bad, "server.listen", s.Listen)
	for key, d := range map[string]time.Duration{
		"server.tickTime": s.TickTime, "server.handshakeTimeout": s.HandshakeTimeout, "server.writeTimeout": s.WriteTimeout,
	} {
		if d <= 0 {
			bad(key, "%v is not a positive duration such as 2s", d)
		}
	}
	if s.DrainTimeout < 0 {
		bad("server.drainTimeout", "%v is negative", s.DrainTimeout)
	}
	if s.ContainerCheckInterval < 100*time.Millisecond {
		bad("server.containerCheckInterval", "%v is shorter than 100ms; the usual one is 1m", s.ContainerCheckInterval)
	}
	if s.ContainerMaxPerMinute < 1 {
		bad("server.containerMaxPerMinute", "%d is not above 0; the usual one is 10000", s.ContainerMaxPerMinute)
	}
	if s.SuperDigest != "" && !superDigest.MatchString(s.SuperDigest) {
		bad("server.superDigest", "is not user:digest, where digest is the base64 of a SHA-1 (28 characters); it is not the password itself")
	}
	if s.StaleAfter < 0 {
		bad("server.staleAfter", "%v is negative; 0 means that nobody looks for stale consumers", s.StaleAfter)
	}
	if s.ExpireStale && s.StaleAfter == 0 {
		bad("server.expireStale", "needs server.staleAfter, such as 30s: without it unanswered events are not kept")
	}
	if shortest, longest := s.SessionTimeouts(); shortest <= 0 || longest < shortest {
		bad("server.minSessionTimeout", "session timeouts from %v to %v are no range", shortest, longest)
	}
	for key, n := range map[string]int{"server.maxFrame": s.MaxFrame, "server.maxSetWatchesFrame": s.MaxSetWatchesFrame, "server.maxPendingBytes": s.MaxPendingBytes, "server.maxPendingTotal": s.MaxPendingTotal} {
		if n < 1024 || n > 1<<30 {
			bad(key, "%d bytes are not between 1024 and 1 GiB", n)
		}
	}
	if s.MaxPendingBytes > s.MaxPendingTotal {
		bad("server.maxPendingBytes", "%d is more than server.maxPendingTotal (%d)", s.MaxPendingBytes, s.MaxPendingTotal)
	}
	if s.MaxConnections < 0 {
		bad("server.maxConnections", "%d is negative; 0 means no limit", s.MaxConnections)
	}
	if s.MaxConnectionsPerAddress < 0 {
		bad("server.maxConnectionsPerAddress", "%d is negative; 0 means no limit", s.MaxConnectionsPerAddress)
	}
	for _, w := range s.FourLetterWords {
		if w != "*" && !slices.Contains(served, w) {
			bad("server.fourLetterWords", "%q is not a four-letter word; choose from %s, or * for all", w, strings.Join(served, " "))
		}
	}
}

func (c Config) validateTLS(bad reporter) {
	t := c.Server.TLS
	switch t.ClientAuth {
	case "none", "want", "need":
	default:
		bad("server.tls.clientAuth", "%q is not none, want or need", t.ClientAuth)
	}
	if t.MinVersion != "1.2" && t.MinVersion != "1.3" {
		bad("server.tls.minVersion", "%q is not 1.2 or 1.3", t.MinVersion)
	}
	if t.Listen == "" {
		return
	}
	address(bad, "server.tls.listen", t.Listen)
	if t.CertFile == "" {
		bad("server.tls.certFile", "is empty; the TLS listener needs a certificate")
	}
	if t.KeyFile == "" {
		bad("server.tls.keyFile", "is empty; the TLS listener needs the key of its certificate")
	}
	if t.ClientAuth != "none" && t.ClientCAFile == "" {
		bad("server.tls.clientCAFile", "is empty, but clientAuth is %s: name the authorities of client certificates", t.ClientAuth)
	}
}

func (c Config) validateRegistry(bad reporter) {
	r := c.Registry
	if r.StartWithoutRegistry != "wait" && r.StartWithoutRegistry != "serve" {
		bad("registry.startWithoutRegistry", "%q is not wait or serve", r.StartWithoutRegistry)
	}
	if r.StartWait < 0 {
		bad("registry.startWait", "%v is negative; 0 means not to wait for the registry at all", r.StartWait)
	}
	switch r.Kind {
	case "embedded":
	case "nacos":
		c.validateNacos(bad)
		return
	default:
		bad("registry.kind", "%q is not a backend of this build; choose embedded or nacos", r.Kind)
	}
	if r.Lease < time.Second {
		bad("registry.lease", "%v is shorter than 1s", r.Lease)
	}
	if r.Address != "" {
		u, err := url.Parse(r.Address)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			bad("registry.address", "%q is not a URL such as http://127.0.0.1:8849", r.Address)
		}
	} else if r.Embedded.Listen != "" {
		address(bad, "registry.embedded.listen", r.Embedded.Listen)
		if !Loopback(r.Embedded.Listen) && strings.TrimSpace(r.Token) == "" {
			bad("registry.token", "is empty but registry.embedded.listen (%s) is open to the network; set a token or listen on loopback", r.Embedded.Listen)
		}
	}
}

func (c Config) validateSpaces(bad reporter) {
	names := map[string]bool{}
	for i, s := range c.Spaces {
		at := fmt.Sprintf("spaces[%d]", i)
		if s.Name == "" {
			bad(at+".name", "is empty")
		} else if names[s.Name] {
			bad(at+".name", "%q names two spaces", s.Name)
		}
		names[s.Name] = true
		switch s.Phase {
		case "native":
		case "proxy", "mirror", "switched":
			bad(at+".phase", "%q needs an existing ensemble, which this build cannot follow yet; use native", s.Phase)
		default:
			bad(at+".phase", "%q is not a phase; use native", s.Phase)
		}
		if s.Namespace == "" {
			bad(at+".namespace", "is empty; the usual one is public")
		}
		if s.Group == "" {
			bad(at+".group", "is empty; the usual one is DEFAULT_GROUP")
		}
		if len(s.Roots) == 0 {
			bad(at+".roots", "is empty; name at least one, such as /dubbo")
		}
		for j, r := range s.Roots {
			key := fmt.Sprintf("%s.roots[%d]", at, j)
			if !strings.HasPrefix(r.Path, "/") || r.Path == "/" {
				bad(key+".path", "%q is not an absolute path below /", r.Path)
			} else {
				for _, part := range strings.Split(r.Path[1:], "/") {
					if !segment.MatchString(part) {
						bad(key+".path", "%q: the part %q is neither a name nor {name}", r.Path, part)
					}
				}
			}
			for _, target := range []struct{ key, value string }{{"namespace", s.Namespace}, {"group", s.Group}} {
				if strings.HasPrefix(target.value, "{") && !strings.Contains(r.Path, target.value) {
					bad(at+"."+target.key, "%s is not in the root %s", target.value, r.Path)
				}
			}
			for _, l := range r.Layouts {
				if l != "dubbo" {
					bad(key+".layouts", "%q is not a layout of this build; the only one is dubbo", l)
				}
			}
			if r.ACL != "enforce" && r.ACL != "ignore" {
				bad(key+".acl", "%q is not enforce or ignore", r.ACL)
			}
			if len(r.Layouts) == 0 {
				bad(key+".layouts", "is empty")
			}
		}
	}
}

func address(bad reporter, key, hostport string) {
	if _, _, err := net.SplitHostPort(hostport); err != nil {
		bad(key, "%q is not host:port, such as 127.0.0.1:2181", hostport)
	}
}

// Loopback says whether only this machine can reach hostport.
func Loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
