package secure

import (
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"zkbridge/compat-tests/control"
	"zkbridge/internal/certificates/certificatestest"
)

// Setup is a server with a TLS listener, and what its clients need.
type Setup struct {
	Target control.Target
	Addr   string // host:port of the TLS listener

	CA         string // PEM files: the authority,
	ClientCert string // a client's certificate,
	ClientKey  string // its key,
	ClientPair string // and both in one, as Java wants them
}

// Subject is that of the client's certificate: RFC 2253 has something to escape
// in it.
var Subject = pkix.Name{CommonName: "alice", Organization: []string{"Example, Inc."}, Country: []string{"DE"}}

// Start starts a server of that kind. It asks clients for certificates and serves
// those without too.
func Start(tb testing.TB, kind control.Kind) Setup {
	tb.Helper()
	ca, dir := certificatestest.New(tb), tb.TempDir()
	write := func(name string, parts ...[]byte) string {
		path := filepath.Join(dir, name)
		var all []byte
		for _, p := range parts {
			all = append(all, p...)
		}
		if err := os.WriteFile(path, all, 0o600); err != nil {
			tb.Fatal(err)
		}
		return path
	}
	cert, key := ca.Issue("server")
	clientCert, clientKey := ca.IssueTo(Subject)
	s := Setup{
		CA: write("ca.pem", ca.PEM()), ClientCert: write("client.pem", clientCert), ClientKey: write("client-key.pem", clientKey),
		ClientPair: write("client-pair.pem", clientKey, clientCert),
	}
	ports, err := control.Ports(1)
	if err != nil {
		tb.Fatal(err)
	}
	port := strconv.Itoa(ports[0])
	s.Addr = net.JoinHostPort("127.0.0.1", port)
	s.Target = control.Start(tb, kind, control.Options{
		Lines: []string{
			"secureClientPort=" + port, "secureClientPortAddress=127.0.0.1",
			"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
			"ssl.keyStore.location=" + write("server-pair.pem", key, cert), "ssl.trustStore.location=" + s.CA,
			"ssl.clientAuth=want",
		},
		Server: []string{fmt.Sprintf("tls: {listen: %q, certFile: %q, keyFile: %q, clientCAFile: %q, clientAuth: want}",
			s.Addr, write("server.pem", cert), write("server-key.pem", key), s.CA)},
	})
	return s
}
