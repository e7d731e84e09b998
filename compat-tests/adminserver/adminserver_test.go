//go:build compat

package adminserver_test

import (
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/adminserver"
	"zkbridge/compat-tests/control"
)

var update = flag.Bool("update", false, "rewrite what the real server answers in testdata")

func TestMain(m *testing.M) { os.Exit(control.Isolate(m)) }

// commands are all of a standalone server's that change nothing but counters.
var commands = []string{
	"configuration", "connections", "dirs", "dump", "environment", "get_trace_mask", "hash", "initial_configuration", "is_read_only",
	"last_snapshot", "leader", "monitor", "observers", "ruok", "server_stats", "set_trace_mask", "stats", "voting_view", "watches",
	"watches_by_path", "watch_summary", "zabstate", "connection_stat_reset", "stat_reset", "observer_connection_stat_reset", "nosuch",
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func TestKeysOfTheCommands(t *testing.T) {
	kinds := control.Selected(t)
	if slices.Contains(kinds, control.ZooKeeper) {
		t.Run("control", func(t *testing.T) {
			ports, err := control.Ports(1)
			require.NoError(t, err)
			server := control.Start(t, control.ZooKeeper, control.Options{Lines: []string{
				"admin.enableServer=true", "admin.serverAddress=127.0.0.1", "admin.serverPort=" + strconv.Itoa(ports[0]),
			}})
			for command, shape := range shapes(t, server.Addr(), "http://127.0.0.1:"+strconv.Itoa(ports[0])) {
				file := filepath.Join("testdata", command+".txt")
				if *update {
					require.NoError(t, os.WriteFile(file, []byte(shape), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, string(want), shape, command)
			}
		})
	}
	if slices.Contains(kinds, control.Bridge) {
		t.Run("bridge", func(t *testing.T) {
			server := control.Start(t, control.Bridge, control.Options{})
			for command, shape := range shapes(t, server.Addr(), server.AdminURL()) {
				real, err := os.ReadFile(filepath.Join("testdata", command+".txt"))
				require.NoError(t, err)
				require.Equal(t, adminserver.Expected(command, string(real)), shape, command)
			}
		})
	}
}

// shapes asks for all commands while there is a session with ephemerals and
// watches.
func shapes(t *testing.T, addr, base string) map[string]string {
	t.Helper()
	conn, _, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Create("/node", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, _, _, err = conn.GetW("/node")
	require.NoError(t, err)
	all := make(map[string]string)
	for _, command := range commands {
		body := get(t, base+"/commands/"+command)
		shape, err := adminserver.Shape(body)
		require.NoError(t, err, command)
		all[command] = shape
	}
	index := string(get(t, base+"/commands"))
	for _, command := range commands[:len(commands)-1] {
		require.Contains(t, index, `<a href="/commands/`+command+`">`, command)
	}
	return all
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, url)
	return body
}
