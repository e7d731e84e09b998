package bridge_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"zkbridge/internal/bridge"
	"zkbridge/internal/certificates/certificatestest"
	"zkbridge/internal/config"
)

// withTLS gives c a TLS listener. issue replaces the server's certificate.
func withTLS(t *testing.T, c *config.Config) (ca *certificatestest.Authority, issue func(name string)) {
	t.Helper()
	ca = certificatestest.New(t)
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		return path
	}
	s := &c.Server.TLS
	issue = func(name string) {
		cert, key := ca.Issue(name)
		s.CertFile, s.KeyFile = write("cert.pem", cert), write("key.pem", key)
	}
	issue("first")
	s.Listen, s.ClientAuth, s.ClientCAFile = "127.0.0.1:0", "want", write("ca.pem", ca.PEM())
	return ca, issue
}

// servedName is the name in the certificate that a TLS listener shows.
func servedName(t *testing.T, ca *certificatestest.Authority, addr string) string {
	t.Helper()
	nc, err := (&tls.Dialer{Config: &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}}).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	defer func() { _ = nc.Close() }()
	return nc.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
}

func connectTLS(t *testing.T, addr string, cfg *tls.Config) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{addr}, 4*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			return (&tls.Dialer{NetDialer: &net.Dialer{Timeout: timeout}, Config: cfg}).DialContext(context.WithoutCancel(t.Context()), network, address)
		}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

func TestClientsThroughTLS(t *testing.T) {
	c := defaults(t)
	c.Server.FourLetterWords = []string{"*"}
	ca, issue := withTLS(t, &c)
	r := start(t, c)
	ready(t, r)
	conn := connectTLS(t, r.SecureAddr(), &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost", Certificates: []tls.Certificate{ca.Pair(pkix.Name{CommonName: "alice"})}})
	_, err := conn.Create("/own", nil, 0, []zk.ACL{{Perms: zk.PermAll, Scheme: "x509", ID: "CN=alice"}})
	require.NoError(t, err)
	_, _, err = connect(t, r).Get("/own")
	require.ErrorIs(t, err, zk.ErrNoAuth)

	issue("second")
	require.Eventually(t, func() bool { return servedName(t, ca, r.SecureAddr()) == "second" }, 10*time.Second, 50*time.Millisecond, "noticed within seconds")
	_, _, err = conn.Get("/own")
	require.NoError(t, err, "who is connected stays so")
	_, text := get(t, r.AdminURL()+"/commands/connections")
	require.Regexp(t, `(?s)"secure_connections" : \[ \{.*"remote_socket_address"`, text)
	_, text = get(t, r.AdminURL()+"/commands/configuration")
	require.Regexp(t, `"secure_client_port" : \d+`, text)
}

func TestTLSFilesThatCannotBeUsedAreNamed(t *testing.T) {
	c := defaults(t)
	withTLS(t, &c)
	c.Server.TLS.KeyFile = c.Server.TLS.ClientCAFile
	_, err := bridge.New(c, bridge.Logger(c.Log, t.Output()))
	require.ErrorContains(t, err, "server.tls: certificate "+c.Server.TLS.CertFile)
}

// text is a buffer that several may use.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *text) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *text) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestHangUpReadsTheFilesAgain(t *testing.T) {
	c := defaults(t)
	withTLS(t, &c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log text
	served := make(chan error, 1)
	go func() { served <- bridge.Serve(ctx, c, &log) }()
	count := func() int {
		return len(regexp.MustCompile(`TLS certificate in force`).FindAllString(log.String(), -1))
	}
	require.Eventually(t, func() bool { return regexp.MustCompile(`msg=serving`).MatchString(log.String()) }, 10*time.Second, time.Millisecond)
	require.Equal(t, 1, count())
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	require.Eventually(t, func() bool { return count() == 2 }, 10*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-served)
}

func TestProxiedListener(t *testing.T) {
	c := defaults(t)
	c.Server.ProxyProtocol = true
	r := start(t, c)
	ready(t, r)
	nc, err := net.Dial("tcp", r.ClientAddr())
	require.NoError(t, err)
	defer func() { _ = nc.Close() }()
	_, err = nc.Write([]byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x07\xc0\x00\x02\x01\x12\x67\x08\x85stat"))
	require.NoError(t, err)
	var answer bytes.Buffer
	_, err = answer.ReadFrom(nc)
	require.NoError(t, err)
	require.Contains(t, answer.String(), " /192.0.2.7:4711[0](")
}
