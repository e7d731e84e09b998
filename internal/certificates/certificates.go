package certificates

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Config names the files and what is asked of clients.
type Config struct {
	CertFile     string // PEM: the server's certificate, then those between it and the authority
	KeyFile      string // PEM: its private key
	ClientCAFile string // PEM: the authorities of client certificates; "": none, ClientAuth must be None

	ClientAuth ClientAuth
	MinVersion uint16 // tls.VersionTLS12 or later; 0: that

	Interval time.Duration // how often the files are looked at; 0: 2 s
	Log      *slog.Logger  // nil: silent
}

// ClientAuth is what is asked of clients.
type ClientAuth string

// What can be asked. A certificate that is shown must be good in any case.
const (
	None ClientAuth = "none" // no certificate
	Want ClientAuth = "want" // one, if the client has it
	Need ClientAuth = "need" // one
)

// Certificates is a TLS configuration that follows its files.
type Certificates struct {
	cfg     Config
	current atomic.Pointer[tls.Config]
	again   chan struct{} // holds a token when Reload was called

	mu   sync.Mutex
	seen [3]state // of the files when they were read last
}

// state tells whether a file is another one than before. Its time does not: it is
// too coarse for a file that is written twice.
type state struct {
	sum [sha256.Size]byte
	err string
}

// Open reads the files. The error names the one that cannot be used.
func Open(cfg Config) (*Certificates, error) {
	if cfg.Interval == 0 {
		cfg.Interval = 2 * time.Second
	}
	if cfg.MinVersion == 0 {
		cfg.MinVersion = tls.VersionTLS12
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c := &Certificates{cfg: cfg, again: make(chan struct{}, 1)}
	c.seen = c.look()
	return c, c.read()
}

// TLS is the configuration in force. It is not changed in place; connections that
// began with another keep that one.
func (c *Certificates) TLS() *tls.Config { return c.current.Load() }

// Reload has Run read the files again, changed or not. It does not wait.
func (c *Certificates) Reload() {
	select {
	case c.again <- struct{}{}:
	default:
	}
}

// Run follows the files until ctx ends.
func (c *Certificates) Run(ctx context.Context) error {
	tick := time.NewTicker(c.cfg.Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.follow(false)
		case <-c.again:
			c.follow(true)
		case <-ctx.Done():
			return nil
		}
	}
}

// follow reads the files if one has changed, or in any case. What cannot be used is
// logged once.
func (c *Certificates) follow(anyway bool) {
	c.mu.Lock()
	now := c.look()
	changed := now != c.seen
	c.seen = now
	c.mu.Unlock()
	if !changed && !anyway {
		return
	}
	if err := c.read(); err != nil {
		c.cfg.Log.Error("the new TLS files cannot be used, so the old certificate stays in force; correct the files, they are looked at again when they change", "error", err)
	}
}

func (c *Certificates) files() [3]string {
	return [3]string{c.cfg.CertFile, c.cfg.KeyFile, c.cfg.ClientCAFile}
}

func (c *Certificates) look() (all [3]state) {
	for i, name := range c.files() {
		if name == "" {
			continue
		}
		body, err := os.ReadFile(name)
		if err != nil {
			all[i].err = err.Error()
		}
		all[i].sum = sha256.Sum256(body)
	}
	return all
}

// read makes the files' configuration the one in force.
func (c *Certificates) read() error {
	pair, err := tls.LoadX509KeyPair(c.cfg.CertFile, c.cfg.KeyFile)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", c.cfg.CertFile, c.cfg.KeyFile, err)
	}
	made := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   c.cfg.MinVersion,
		// The outbox writes whole batches: small records would only cost.
		DynamicRecordSizingDisabled: true,
	}
	switch c.cfg.ClientAuth {
	case Want:
		made.ClientAuth = tls.VerifyClientCertIfGiven
	case Need:
		made.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if made.ClientAuth != tls.NoClientCert {
		if made.ClientCAs, err = authorities(c.cfg.ClientCAFile); err != nil {
			return err
		}
	}
	c.current.Store(made)
	c.cfg.Log.Info("TLS certificate in force", "subject", pair.Leaf.Subject.String(), "until", pair.Leaf.NotAfter, "clients", string(c.cfg.ClientAuth))
	if left := time.Until(pair.Leaf.NotAfter); left < 0 {
		c.cfg.Log.Error("the TLS certificate has expired: clients that check it will not connect", "until", pair.Leaf.NotAfter)
	}
	return nil
}

func authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("authorities of client certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("authorities of client certificates: %s: %w", file, errNoCertificate)
	}
	return pool, nil
}

var errNoCertificate = errors.New("no certificate in PEM form is in it")
