package bridge

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"zkbridge/internal/certificates"
	"zkbridge/internal/server"
)

// openCertificates reads the files of the TLS listener, if there is to be one.
func (b *Bridge) openCertificates() (err error) {
	t := b.cfg.Server.TLS
	if t.Listen == "" {
		return nil
	}
	version := uint16(tls.VersionTLS12)
	if t.MinVersion == "1.3" {
		version = tls.VersionTLS13
	}
	b.certs, err = certificates.Open(certificates.Config{
		CertFile: t.CertFile, KeyFile: t.KeyFile, ClientCAFile: t.ClientCAFile,
		ClientAuth: certificates.ClientAuth(t.ClientAuth), MinVersion: version, Log: b.log.With("component", "certificates"),
	})
	if err != nil {
		return fmt.Errorf("server.tls: %w", err)
	}
	return nil
}

// Reload reads the TLS files again. The rest of the configuration is read at the
// start only.
func (b *Bridge) Reload() {
	if b.certs == nil {
		b.log.Info("nothing to read again: there is no TLS listener")
		return
	}
	b.certs.Reload()
}

func (b *Bridge) serveClients(ctx context.Context) error {
	return b.server.ServeFront(ctx, server.Front{Listener: b.clients, Proxy: b.cfg.Server.ProxyProtocol})
}

func (b *Bridge) serveSecure(ctx context.Context) error {
	return b.server.ServeFront(ctx, server.Front{Listener: b.secure, TLS: b.certs.TLS, Proxy: b.cfg.Server.TLS.ProxyProtocol})
}

// SecureAddr is where ZooKeeper clients connect through TLS, "host:port"; "" if
// nowhere.
func (b *Bridge) SecureAddr() string {
	if b.secure == nil {
		return ""
	}
	return b.secure.Addr().String()
}

// securePort is the port of SecureAddr, or 0.
func (b *Bridge) securePort() int {
	if b.secure == nil {
		return 0
	}
	return b.secure.Addr().(*net.TCPAddr).Port
}
