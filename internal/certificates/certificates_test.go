package certificates_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/certificates"
	"zkbridge/internal/certificates/certificatestest"
)

// logs collects log lines.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

type files struct {
	t   *testing.T
	dir string
	ca  *certificatestest.Authority
	log logs
}

func newFiles(t *testing.T) *files {
	t.Helper()
	f := &files{t: t, dir: t.TempDir(), ca: certificatestest.New(t)}
	f.write("ca.pem", f.ca.PEM())
	f.issue("first")
	return f
}

func (f *files) path(name string) string { return filepath.Join(f.dir, name) }

func (f *files) write(name string, b []byte) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(f.path(name), b, 0o600))
}

func (f *files) issue(name string) {
	cert, key := f.ca.Issue(name)
	f.write("cert.pem", cert)
	f.write("key.pem", key)
}

func (f *files) config() certificates.Config {
	return certificates.Config{
		CertFile: f.path("cert.pem"), KeyFile: f.path("key.pem"), ClientCAFile: f.path("ca.pem"), ClientAuth: certificates.Want,
		Interval: 5 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	}
}

// open opens the files and follows them.
func (f *files) open(cfg certificates.Config) *certificates.Certificates {
	f.t.Helper()
	c, err := certificates.Open(cfg)
	require.NoError(f.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	f.t.Cleanup(func() { cancel(); require.NoError(f.t, <-ended) })
	return c
}

func subject(c *certificates.Certificates) string {
	return c.TLS().Certificates[0].Leaf.Subject.CommonName
}

func (f *files) eventually(c *certificates.Certificates, name string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return subject(c) == name }, 5*time.Second, time.Millisecond)
}

func TestFilesAreFollowed(t *testing.T) {
	f := newFiles(t)
	c := f.open(f.config())
	require.Equal(t, "first", subject(c))
	require.Equal(t, uint16(tls.VersionTLS12), c.TLS().MinVersion)
	old := c.TLS()
	f.issue("second")
	f.eventually(c, "second")
	require.Equal(t, "first", old.Certificates[0].Leaf.Subject.CommonName, "what is in use is not changed in place")
}

func TestABrokenFileKeepsTheOldCertificate(t *testing.T) {
	f := newFiles(t)
	c := f.open(f.config())
	for _, broken := range []struct {
		file string
		text string
	}{{"cert.pem", "nonsense"}, {"key.pem", ""}, {"ca.pem", "nothing"}} {
		f.issue("good " + broken.file)
		f.write("ca.pem", f.ca.PEM())
		f.eventually(c, "good "+broken.file)
		before := bytes.Count([]byte(f.log.String()), []byte("the old certificate stays in force"))
		f.write(broken.file, []byte(broken.text))
		require.Eventually(t, func() bool {
			return bytes.Count([]byte(f.log.String()), []byte("the old certificate stays in force")) == before+1
		}, 5*time.Second, time.Millisecond, broken.file)
		require.Equal(t, "good "+broken.file, subject(c))
	}
	require.NoError(t, os.Remove(f.path("ca.pem")))
	f.issue("last")
	f.write("ca.pem", f.ca.PEM())
	f.eventually(c, "last")
}

func TestReloadWhenAsked(t *testing.T) {
	f := newFiles(t)
	cfg := f.config()
	cfg.Interval = time.Hour
	c := f.open(cfg)
	f.issue("second")
	require.Equal(t, "first", subject(c))
	c.Reload()
	c.Reload()
	f.eventually(c, "second")
}

func TestOpenNamesTheFile(t *testing.T) {
	f := newFiles(t)
	cfg := f.config()
	cfg.CertFile = f.path("none.pem")
	_, err := certificates.Open(cfg)
	require.ErrorContains(t, err, "none.pem")
	cfg = f.config()
	cfg.ClientCAFile = f.path("key.pem")
	_, err = certificates.Open(cfg)
	require.ErrorContains(t, err, "key.pem: no certificate")
	cfg.ClientAuth = certificates.None
	_, err = certificates.Open(cfg)
	require.NoError(t, err, "the authorities are not needed")
}
