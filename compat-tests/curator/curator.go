package curator

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/scenario"
)

// directory is where the application's providers register.
const directory = "/greet/providers"

func classpath(ctx context.Context) (string, error) {
	return control.Maven(ctx, filepath.Join(control.Root(), "compat-tests", "curator", "java"))
}

func start(tb testing.TB, p scenario.Place, options ...string) *apps.App {
	tb.Helper()
	java, err := control.Java()
	if err != nil {
		tb.Fatal(err)
	}
	cp, err := classpath(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	args := append([]string{java}, control.JVMFlags(96)...)
	args = append(args, "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-cp", cp, "com.example.demo.Main")
	args = append(args, options...)
	return apps.Start(tb, apps.Command{Name: p.Name, Port: p.Port, Args: args, Dir: p.Dir})
}

func family() scenario.Family {
	return scenario.Family{
		Name: "curator",
		Provider: func(tb testing.TB, p scenario.Place) *apps.App {
			tb.Helper()
			return start(tb, p, "provider", "zookeeper="+p.ZooKeeper, "host="+control.ProviderIP, fmt.Sprintf("port=%d", p.Port), "dir="+directory)
		},
		Consumer: func(tb testing.TB, p scenario.Place) *apps.App {
			tb.Helper()
			return start(tb, p, "consumer", "zookeeper="+p.ZooKeeper, "dir="+directory)
		},
		Address:   func(port int) string { return fmt.Sprintf("%s:%d", control.ProviderIP, port) },
		Directory: directory,
	}
}
