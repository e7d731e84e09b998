package dubbogo

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/scenario"
)

// Interface is the service that the applications offer and call.
const Interface = "com.example.demo.GreetService"

// program builds the application once and returns its path.
func program(ctx context.Context) (string, error) {
	return control.GoProgram(ctx, filepath.Join(control.Root(), "compat-tests", "dubbogo", "app"), ".", "dubbogo-app")
}

// Fetch builds the applications, for [control.Isolate].
func Fetch(ctx context.Context) error {
	_, err := program(ctx)
	return err
}

func start(tb testing.TB, p scenario.Place, options ...string) *apps.App {
	tb.Helper()
	path, err := program(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return apps.Start(tb, apps.Command{
		Name: p.Name, Port: p.Port, Dir: p.Dir,
		Args: append([]string{path}, options...),
		Env:  []string{"DUBBO_IP_TO_REGISTRY=" + control.ProviderIP},
	})
}

// Provider starts a provider.
func Provider(tb testing.TB, p scenario.Place) *apps.App {
	tb.Helper()
	return start(tb, p, "provider", "app=go-provider", "zookeeper="+p.ZooKeeper, "host="+control.ProviderIP, fmt.Sprintf("port=%d", p.Port))
}

// Consumer starts a consumer.
func Consumer(tb testing.TB, p scenario.Place) *apps.App {
	tb.Helper()
	return start(tb, p, "consumer", "app=go-consumer", "zookeeper="+p.ZooKeeper)
}

// Family is dubbo-go as the scenario plays it.
func Family() scenario.Family {
	return scenario.Family{
		Name:              "dubbo-go",
		Provider:          Provider,
		Consumer:          Consumer,
		Address:           func(port int) string { return fmt.Sprintf("%s:%d", control.ProviderIP, port) },
		Directory:         "/dubbo/" + Interface + "/providers",
		Service:           "providers:" + Interface + "::",
		LosesListAfterCut: true,
		MinSession:        8 * time.Second, // it asks for five
	}
}
