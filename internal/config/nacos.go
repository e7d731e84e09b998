package config

import (
	"regexp"
	"time"
)

// Nacos is the Nacos cluster that is the registry where registry.kind is nacos.
type Nacos struct {
	Servers  []string `mapstructure:"servers" doc:"Its servers, host:port of the main port (8848); gRPC is 1000 above. With https:// in front the log-in goes through TLS."`
	Username string   `mapstructure:"username" doc:"Who logs in. Empty: nobody has to."`
	Password string   `mapstructure:"password" doc:"Better in the environment than in a file: ZKBRIDGE_REGISTRY_NACOS_PASSWORD."`
	TLS      NacosTLS `mapstructure:"tls" doc:"TLS of the gRPC port (nacos.remote.server.rpc.tls)."`

	MetadataLimit int      `mapstructure:"metadataLimit" doc:"The server's limit for the characters of an instance's metadata (nacos.naming.service.metadata.length, 1024);\n-1: none. What is longer is not published: the znode works, /explain and a metric say so."`
	DropMetadata  []string `mapstructure:"dropMetadata" doc:"Metadata keys that may be left out, the first ones first, of an instance that is above the limit."`

	InstancesPerConnection     int `mapstructure:"instancesPerConnection" doc:"More instances than this make the bridge open another connection: servers tell each other of all instances of a\nconnection whenever one of them changes."`
	BytesPerConnection         int `mapstructure:"bytesPerConnection" doc:"The same in bytes."`
	SubscriptionsPerConnection int `mapstructure:"subscriptionsPerConnection" doc:"Services followed on one connection."`

	Settle         time.Duration `mapstructure:"settle" doc:"After a connection was lost, what a server does not list any more is shown for so long: applications need it to\nregister again at a server that was restarted, or replaced by another."`
	NamesInterval  time.Duration `mapstructure:"namesInterval" doc:"Between two lists of service names, and ten times that where the server tells of new ones by itself (Nacos 3)."`
	VerifyInterval time.Duration `mapstructure:"verifyInterval" doc:"In which time each service is compared once with what a server has, and mended."`
	HealthInterval time.Duration `mapstructure:"healthInterval" doc:"A connection that was silent for so long is checked. Nacos drops it after 20 s."`
	HealthTimeout  time.Duration `mapstructure:"healthTimeout" doc:"A server that has not answered by then is given up for another."`
	RequestTimeout time.Duration `mapstructure:"requestTimeout" doc:"The longest wait for an answer to anything else; then the connection is made anew."`
}

// NacosTLS is how the bridge knows the servers and they know it.
type NacosTLS struct {
	Enabled    bool   `mapstructure:"enabled" doc:"Whether gRPC goes through TLS."`
	CAFile     string `mapstructure:"caFile" doc:"The authorities (PEM) of the servers' certificates. Empty: the system's."`
	CertFile   string `mapstructure:"certFile" doc:"The bridge's certificate (PEM), for servers that ask for one."`
	KeyFile    string `mapstructure:"keyFile" doc:"Its private key (PEM)."`
	ServerName string `mapstructure:"serverName" doc:"The name in the servers' certificates. Empty: the host of each."`
}

func defaultNacos() Nacos {
	return Nacos{
		Servers: []string{}, DropMetadata: []string{}, MetadataLimit: 1024,
		InstancesPerConnection: 500, BytesPerConnection: 1 << 20, SubscriptionsPerConnection: 1000,
		Settle: 15 * time.Second, NamesInterval: time.Second, VerifyInterval: 2 * time.Minute,
		HealthInterval: 3 * time.Second, HealthTimeout: 8 * time.Second, RequestTimeout: 30 * time.Second,
	}
}

// What Nacos takes as namespace and group.
var (
	nacosNamespace = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	nacosGroup     = regexp.MustCompile(`^[A-Za-z0-9_:.-]{1,128}$`)
	inBraces       = regexp.MustCompile(`\{[^{}]*\}`)
)

func (c Config) validateNacos(bad reporter) {
	n := c.Registry.Nacos
	if len(n.Servers) == 0 {
		bad("registry.nacos.servers", "is empty; name at least one server, such as 10.0.0.1:8848")
	}
	if n.Username != "" && n.Password == "" {
		bad("registry.nacos.password", "is empty, but there is a username")
	}
	if (n.TLS.CertFile == "") != (n.TLS.KeyFile == "") {
		bad("registry.nacos.tls.certFile", "and keyFile belong together: name both or none")
	}
	if n.MetadataLimit == 0 || n.MetadataLimit < -1 {
		bad("registry.nacos.metadataLimit", "%d is neither a number of characters nor -1 (no limit)", n.MetadataLimit)
	}
	for key, v := range map[string]int{
		"instancesPerConnection": n.InstancesPerConnection, "bytesPerConnection": n.BytesPerConnection, "subscriptionsPerConnection": n.SubscriptionsPerConnection,
	} {
		if v < 1 {
			bad("registry.nacos."+key, "%d is not above 0", v)
		}
	}
	if n.BytesPerConnection > 8<<20 {
		bad("registry.nacos.bytesPerConnection", "%d is more than a Nacos server takes at once (10 MiB, and a third of it is wrapping)", n.BytesPerConnection)
	}
	for key, d := range map[string]time.Duration{
		"settle": n.Settle, "namesInterval": n.NamesInterval, "verifyInterval": n.VerifyInterval, "healthInterval": n.HealthInterval,
		"healthTimeout": n.HealthTimeout, "requestTimeout": n.RequestTimeout,
	} {
		if d <= 0 {
			bad("registry.nacos."+key, "%v is not a positive duration such as 2s", d)
		}
	}
	if n.HealthInterval > 10*time.Second {
		bad("registry.nacos.healthInterval", "%v is too long: Nacos drops a connection after 20 s of silence", n.HealthInterval)
	}
	for _, s := range c.Spaces {
		if name := inBraces.ReplaceAllString(s.Namespace, "x"); !nacosNamespace.MatchString(name) {
			bad("spaces", "%s: Nacos does not take the namespace %q: 1 to 64 letters, digits, - and _; its default one is public", s.Name, s.Namespace)
		}
		if name := inBraces.ReplaceAllString(s.Group, "x"); !nacosGroup.MatchString(name) {
			bad("spaces", "%s: Nacos does not take the group %q: 1 to 128 letters, digits, - _ : and .", s.Name, s.Group)
		}
	}
}
