package scenario

import (
	"cmp"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
)

// Place says where an application runs.
type Place struct {
	Name      string // of the application, unique within the scenario
	ZooKeeper string // host:port of its connect string
	Port      int    // where a provider listens
	Dir       string // for its files and logs

	Host   string   // where a provider listens and says that it is; "" means control.ProviderIP
	Within []string // what runs the program, such as nsenter; nil: nothing
}

// Address is the host of the place.
func (p Place) Address() string { return cmp.Or(p.Host, control.ProviderIP) }

// Family is a client library with a provider and a consumer written for it.
type Family struct {
	Name     string
	Provider func(tb testing.TB, p Place) *apps.App
	Consumer func(tb testing.TB, p Place) *apps.App
	// Address is how the consumer shows a provider on that port.
	Address func(port int) string
	// Prepare is done to a fresh server before the first application starts.
	Prepare func(tb testing.TB, conn *zk.Conn)
	// LosesListAfterCut says that on a real server the consumer's own list may stay
	// empty after its connection was lost (dubbo-go): then the server's list is
	// judged in its place.
	LosesListAfterCut bool
	// MinSession is the shortest session that the server grants, where the family
	// asks for one too short to outlive the cut for certain. 0 means two ticks.
	MinSession time.Duration
	// Directory is where providers register, as the server lists it.
	Directory string
	// Service is the registry's name of the providers; "" where the directory is
	// nothing that the bridge publishes. With it the observer watches the run.
	Service string
}
