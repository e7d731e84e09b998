package clients

import (
	"context"
	"path/filepath"
	"testing"

	"zkbridge/compat-tests/control"
)

// javaClient is one version of a Java library: the same sources, compiled
// against that version.
type javaClient struct {
	name      string   // as tests call it
	project   string   // its folder below compat-tests/clients
	scenarios []string // classes, without the common part of their packages
}

// plain is what every version of the ZooKeeper client can do.
var plain = []string{
	"plain.Nodes", "plain.Async", "plain.Transactions", "plain.Access", "plain.Watches", "plain.Sessions",
}

// javaClients are the versions of the ZooKeeper client and of Curator.
func javaClients() []javaClient {
	since35 := append(plain[:len(plain):len(plain)], "since35.Kinds", "since35.WatchRemoval")
	since36 := append(since35[:len(since35):len(since35)], "since36.Reads", "since36.LastingWatches")
	since37 := append(since36[:len(since36):len(since36)], "since37.Whoami")
	curator := []string{
		"curator.Framework", "curator.Caches", "curator.Locks", "curator.Leaders", "curator.Counters",
		"curator.Gates", "curator.Keepers", "curator.Discovery", "curator.Outages",
	}
	curator5 := append(curator[:len(curator):len(curator)], "curator5.NewCaches")
	return []javaClient{
		{"java-3.4", "java/v34", plain},
		{"java-3.6", "java/v36", since36},
		{"java-3.8", "java/v38", since37},
		{"java-3.9", "java/v39", since37},
		{"curator-2.12", "curator/v2", curator},
		{"curator-4.3", "curator/v4", curator},
		{"curator-5.9", "curator/v5", curator5},
	}
}

func (c javaClient) classpath(ctx context.Context) (string, error) {
	here := filepath.Join(control.Root(), "compat-tests", "clients")
	return control.Maven(ctx, filepath.Join(here, filepath.FromSlash(c.project)), filepath.Join(here, "src"))
}

// command is the program that goes through the scenarios.
func (c javaClient) command(tb testing.TB) []string {
	tb.Helper()
	args := append(jvm(tb, c.classpath, "-Dclient="+c.name), "zkbridge.clients.common.Main")
	return append(args, c.scenarios...)
}

// jvm is a small JVM with a class path.
func jvm(tb testing.TB, classpath func(context.Context) (string, error), properties ...string) []string {
	tb.Helper()
	java, err := control.Java()
	if err != nil {
		tb.Fatal(err)
	}
	cp, err := classpath(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	args := append(append([]string{java}, control.JVMFlags(96)...), properties...)
	return append(args, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS", "-cp", cp)
}
