package dubbo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// Version is a Dubbo version and how its applications are started.
type Version struct {
	name    string   // of the Maven project
	jvm     []string // further flags of the JVM
	migrate bool     // its consumers know application level lists too
}

// The versions that are tested.
var (
	V336  = Version{name: "java33", migrate: true}
	V2723 = Version{name: "java27", jvm: []string{
		"--add-opens", "java.base/java.lang=ALL-UNNAMED",
		"--add-opens", "java.base/java.math=ALL-UNNAMED",
		"--add-opens", "java.base/java.util=ALL-UNNAMED",
	}}
)

// classpath is that of the applications of this version, built once.
func (v Version) classpath(ctx context.Context) (string, error) {
	here := filepath.Join(control.Root(), "compat-tests", "dubbo")
	return control.Maven(ctx, filepath.Join(here, v.name), filepath.Join(here, "src"))
}

// Fetch fetches and builds the applications, for [control.Isolate].
func (v Version) Fetch(ctx context.Context) error {
	_, err := v.classpath(ctx)
	return err
}

// start starts an application of this version. Options that begin with -D are
// the JVM's, the others the application's.
func (v Version) start(tb testing.TB, p scenario.Place, options ...string) *apps.App {
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
	args := append(slices.Clone(p.Within), java)
	args = append(args, control.JVMFlags(160)...)
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
		Env: []string{"DUBBO_IP_TO_REGISTRY=" + p.Address()},
	})
}

// Provider starts a provider; further options are the application's.
func (v Version) Provider(tb testing.TB, p scenario.Place, options ...string) *apps.App {
	tb.Helper()
	args := []string{"provider", "app=" + providerApp, "host=" + p.Address(), fmt.Sprintf("port=%d", p.Port)}
	if p.ZooKeeper != "" {
		args = append(args, "zookeeper="+p.ZooKeeper)
	}
	return v.start(tb, p, append(args, options...)...)
}

// Consumer starts a consumer; further options are the application's.
func (v Version) Consumer(tb testing.TB, p scenario.Place, options ...string) *apps.App {
	tb.Helper()
	return v.start(tb, p, append([]string{"consumer", "app=" + consumerApp, "zookeeper=" + p.ZooKeeper}, options...)...)
}

// Family is this version as the scenario plays it.
func (v Version) Family() scenario.Family {
	f := scenario.Family{
		Name:      v.name,
		Provider:  func(tb testing.TB, p scenario.Place) *apps.App { tb.Helper(); return v.Provider(tb, p) },
		Consumer:  func(tb testing.TB, p scenario.Place) *apps.App { tb.Helper(); return v.Consumer(tb, p) },
		Address:   address,
		Directory: "/dubbo/" + Interface + "/providers",
		Service:   "providers:" + Interface + "::",
	}
	if v.migrate {
		f.Prepare = ForceInterface
	}
	return f
}

func address(port int) string { return fmt.Sprintf("%s:%d", control.ProviderIP, port) }

// answerFrom is what a provider on that port answers.
func answerFrom(port int) string { return fmt.Sprintf("ok hello-you from %d", port) }

// ForceInterface writes the migration rule that keeps the consumer on the list
// by interface. Without it one provider visible by application pulls all calls.
func ForceInterface(tb testing.TB, conn *zk.Conn) {
	tb.Helper()
	scenario.Put(tb, conn, "/dubbo/config/DUBBO_SERVICEDISCOVERY_MIGRATION/"+consumerApp+".migration",
		"key: "+consumerApp+"\nstep: FORCE_INTERFACE\n")
}
