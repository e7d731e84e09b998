package bridge

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"

	"zkbridge/internal/config"
	"zkbridge/registryclient"
	"zkbridge/registryclient/nacos"
)

// NacosConfig is the configuration of the client of owner for a Nacos cluster.
func NacosConfig(n config.Nacos, owner registryclient.Owner, log *slog.Logger) (nacos.Config, error) {
	cfg := nacos.Config{
		Servers: n.Servers, Owner: owner, Username: n.Username, Password: n.Password,
		InstancesPerConnection: n.InstancesPerConnection, BytesPerConnection: n.BytesPerConnection,
		SubscriptionsPerConnection: n.SubscriptionsPerConnection,
		MetadataLimit:              n.MetadataLimit, DropMetadata: n.DropMetadata,
		Settle: n.Settle, NamesInterval: n.NamesInterval, VerifyInterval: n.VerifyInterval,
		HealthInterval: n.HealthInterval, HealthTimeout: n.HealthTimeout, RequestTimeout: n.RequestTimeout, Log: log,
	}
	if !n.TLS.Enabled && n.TLS.CAFile == "" {
		return cfg, nil
	}
	secure := &tls.Config{ServerName: n.TLS.ServerName, MinVersion: tls.VersionTLS12}
	if n.TLS.CAFile != "" {
		pem, err := os.ReadFile(n.TLS.CAFile)
		if err != nil {
			return cfg, fmt.Errorf("registry.nacos.tls.caFile: %w", err)
		}
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(pem) {
			return cfg, fmt.Errorf("registry.nacos.tls.caFile: %s has no certificate in PEM", n.TLS.CAFile)
		}
	}
	if n.TLS.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(n.TLS.CertFile, n.TLS.KeyFile)
		if err != nil {
			return cfg, fmt.Errorf("registry.nacos.tls.certFile: %w", err)
		}
		secure.Certificates = []tls.Certificate{pair}
	}
	if n.TLS.Enabled {
		cfg.TLS = secure
	} else {
		cfg.HTTPTLS = secure
	}
	return cfg, nil
}

func (b *Bridge) buildNacos(owner registryclient.Owner, log *slog.Logger) error {
	cfg, err := NacosConfig(b.cfg.Registry.Nacos, owner, log)
	if err != nil {
		return err
	}
	b.nacos, err = nacos.New(cfg)
	b.client = b.nacos
	return err
}
