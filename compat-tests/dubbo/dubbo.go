package dubbo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/scenario"
)

// Interface is the service that the applications offer and call.
const Interface = "com.example.demo.GreetService"

const (
	providerApp = "demo-provider"
	consumerApp = "demo-consumer"
)

// version is a Dubbo version and how its applications are started.
type version struct {
	name    string   // of the Maven project
	jvm     []string // further flags of the JVM
	migrate bool     // its consumers know application level lists too
}

var (
	v336  = version{name: "java33", migrate: true}
	v2723 = version{name: "java27", jvm: []string{
		"--add-opens", "java.base/java.lang=ALL-UNNAMED",
		"--add-opens", "java.base/java.math=ALL-UNNAMED",
		"--add-opens", "java.base/java.util=ALL-UNNAMED",
	}}
)

// classpath is that of the applications of this version, built once.
func (v version) classpath(ctx context.Context) (string, error) {
	here := filepath.Join(control.Root(), "compat-tests", "dubbo")
	return control.Maven(ctx, filepath.Join(here, v.name), filepath.Join(here, "src"))
}

func (v version) fetch(ctx context.Context) error {
	_, err := v.classpath(ctx)
	return err
}

// start starts an application of this version. Options that begin with -D are
// the JVM's, the others the application's.
func (v version) start(tb testing.TB, p scenario.Place, options ...string) *apps.App {
	tb.Helper()
	java, err := control.Java()
	if err != nil {
		tb.Fatal(err)
	}
	classpath, err := v.classpath(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	// Dubbo keeps a file of addresses in the home directory: one of another run
	// would be used.
	home := filepath.Join(p.Dir, p.Name+".home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		tb.Fatal(err)
	}
	args := append([]string{java}, control.JVMFlags(160)...)
	args = append(args, v.jvm...)
	var own []string
	for _, option := range options {
		if strings.HasPrefix(option, "-D") {
			args = append(args, option)
		} else {
			own = append(own, option)
		}
	}
	args = append(args, "-Duser.home="+home, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-cp", classpath, "com.example.demo.Main")
	args = append(args, own...)
	return apps.Start(tb, apps.Command{
		Name: p.Name, Port: p.Port, Args: args, Dir: p.Dir,
		Env: []string{"DUBBO_IP_TO_REGISTRY=" + control.ProviderIP},
	})
}

// provider starts a provider; further options are the application's.
func (v version) provider(tb testing.TB, p scenario.Place, options ...string) *apps.App {
	tb.Helper()
	args := []string{"provider", "app=" + providerApp, "host=" + control.ProviderIP, fmt.Sprintf("port=%d", p.Port)}
	if p.ZooKeeper != "" {
		args = append(args, "zookeeper="+p.ZooKeeper)
	}
	return v.start(tb, p, append(args, options...)...)
}

// consumer starts a consumer.
func (v version) consumer(tb testing.TB, p scenario.Place) *apps.App {
	tb.Helper()
	return v.start(tb, p, "consumer", "app="+consumerApp, "zookeeper="+p.ZooKeeper)
}

// family is this version as the scenario plays it.
func (v version) family() scenario.Family {
	f := scenario.Family{
		Name:      v.name,
		Provider:  func(tb testing.TB, p scenario.Place) *apps.App { tb.Helper(); return v.provider(tb, p) },
		Consumer:  v.consumer,
		Address:   address,
		Directory: "/dubbo/" + Interface + "/providers",
		Service:   "providers:" + Interface + "::",
	}
	if v.migrate {
		f.Prepare = forceInterface
	}
	return f
}

func address(port int) string { return fmt.Sprintf("%s:%d", control.ProviderIP, port) }

// answerFrom is what a provider on that port answers.
func answerFrom(port int) string { return fmt.Sprintf("ok hello-you from %d", port) }

// forceInterface writes the migration rule that keeps the consumer on the list
// by interface. Without it one provider visible by application pulls all calls.
func forceInterface(tb testing.TB, conn *zk.Conn) {
	tb.Helper()
	scenario.Put(tb, conn, "/dubbo/config/DUBBO_SERVICEDISCOVERY_MIGRATION/"+consumerApp+".migration",
		"key: "+consumerApp+"\nstep: FORCE_INTERFACE\n")
}
