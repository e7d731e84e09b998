package embedded_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

// killed is a registry that is not run, so that it writes no snapshot, and the
// next one of its directory starts as after a kill -9.
func killed(t *testing.T, path string, use func(reg *embedded.Registry)) {
	t.Helper()
	dir, err := embedded.OpenDir(path)
	require.NoError(t, err)
	defer dir.Close()
	reg, err := embedded.New(embedded.Config{Disk: dir})
	require.NoError(t, err)
	use(reg)
}

// records gives all that a registry lists under some services.
func records(t *testing.T, reg *embedded.Registry, names ...string) (list []string) {
	t.Helper()
	for _, name := range names {
		for _, i := range embedded.ListOf(reg, service(name)) {
			list = append(list, fmt.Sprintf("%s %s %s %v", name, i.Owner, i.Instance().Address(), i.Metadata))
		}
	}
	return list
}

func TestKilledRegistryKnowsAllThatItSaid(t *testing.T) {
	path := t.TempDir()
	next := bridge
	next.Incarnation = 2
	publish := func(reg *embedded.Registry, o rc.Owner, generation uint64, list ...rc.Instance) {
		t.Helper()
		_, err := reg.Publish(rc.Publication{Owner: o, Service: service("s"), Generation: generation, Instances: list}, time.Minute)
		require.NoError(t, err)
	}
	killed(t, path, func(reg *embedded.Registry) {
		for _, ip := range []string{"10.0.1.1", "10.0.1.2"} {
			_, err := reg.Register(service("s"), native(ip, 1), time.Minute)
			require.NoError(t, err)
		}
		require.NoError(t, reg.Deregister(service("s"), "10.0.1.2:1"))
		publish(reg, bridge, 1, native("10.0.0.1", 1), native("10.0.0.2", 1))
		publish(reg, bridge, 2, native("10.0.0.2", 1), native("10.0.0.3", 1))
	})
	changed := native("10.0.1.1", 1)
	changed.Metadata = map[string]string{"a": "b"}
	killed(t, path, func(reg *embedded.Registry) {
		assert.Equal(t, []string{"s c1/1 10.0.0.2:1 map[]", "s c1/1 10.0.0.3:1 map[]", "s  10.0.1.1:1 map[]"}, records(t, reg, "s"))
		_, err := reg.Register(service("s"), changed, time.Minute)
		require.NoError(t, err)
		publish(reg, next, 1, native("10.0.0.2", 1), native("10.0.0.3", 1)) // the same, but the lease
		publish(reg, next, 2, native("10.0.0.3", 1))
		_, err = reg.Renew(bridge, time.Minute)
		require.ErrorIs(t, err, rc.ErrStale)
	})
	killed(t, path, func(reg *embedded.Registry) {
		assert.Equal(t, []string{"s c1/1 10.0.0.3:1 map[]", "s  10.0.1.1:1 map[a:b]"}, records(t, reg, "s"))
		_, err := reg.Renew(bridge, time.Minute)
		require.ErrorIs(t, err, rc.ErrStale, "the newer incarnation is known")
	})
}

// What a registry told its readers to be over does not come back, be it an instance or
// all that an owner had.
func TestWhatHasExpiredStaysSoAfterAKill(t *testing.T) {
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dir, err := embedded.OpenDir(path)
		require.NoError(t, err)
		disk := &noSnapshots{dir}
		_, stop := func() (*embedded.Registry, func()) {
			reg, stop := startStop(t, embedded.Config{Disk: disk})
			_, err := reg.Register(service("s"), native("10.0.0.1", 1), 2*time.Second)
			require.NoError(t, err)
			_, err = reg.Publish(rc.Publication{Owner: bridge, Service: service("s"), Instances: []rc.Instance{native("10.0.0.2", 1)}}, 3*time.Second)
			require.NoError(t, err)
			_, err = reg.Register(service("s"), native("10.0.0.3", 1), time.Hour)
			require.NoError(t, err)
			time.Sleep(4 * time.Second)
			return reg, stop
		}()
		stop()
		require.NoError(t, dir.Close())
	})
	killed(t, path, func(reg *embedded.Registry) {
		assert.Equal(t, []string{"s  10.0.0.3:1 map[]"}, records(t, reg, "s"))
	})
}

// noSnapshots never gets one done.
type noSnapshots struct{ *embedded.Dir }

func (n *noSnapshots) Save([]byte) error { return nil }

// Forget keeps all, as nothing of it is in a snapshot.
func (n *noSnapshots) Forget(uint64) {}

func TestTornJournal(t *testing.T) {
	path := t.TempDir()
	killed(t, path, func(reg *embedded.Registry) {
		for _, ip := range []string{"10.0.0.1", "10.0.0.2"} {
			_, err := reg.Register(service("s"), native(ip, 1), time.Minute)
			require.NoError(t, err)
		}
	})
	file := filepath.Join(path, "registry.journal.1")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for cut := range whole {
		require.NoError(t, os.WriteFile(file, whole[:cut], 0o600))
		left, err := filepath.Glob(filepath.Join(path, "registry.journal.*"))
		require.NoError(t, err)
		for _, f := range left {
			if f != file {
				require.NoError(t, os.Remove(f))
			}
		}
		killed(t, path, func(reg *embedded.Registry) {
			want := []string(nil)
			if cut > len(whole)/2-1 && cut < len(whole) {
				want = []string{"s  10.0.0.1:1 map[]"}
			}
			require.Equal(t, want, records(t, reg, "s"), "cut at %d", cut)
		})
	}
}

// brokenJournal fails to append while told to, after having written half of it.
type brokenJournal struct {
	*embedded.Dir
	broken bool
}

func (b *brokenJournal) Append(e []byte) error {
	if b.broken {
		return errors.New("no space left on device")
	}
	return b.Dir.Append(e)
}

func TestJournalIsWholeAgainWithTheNextSnapshot(t *testing.T) {
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dir, err := embedded.OpenDir(path)
		require.NoError(t, err)
		disk := &brokenJournal{Dir: dir}
		reg, stop := startStop(t, embedded.Config{Disk: disk})
		defer func() {
			stop()
			require.NoError(t, dir.Close())
		}()
		register := func(ip string) {
			_, err := reg.Register(service("s"), native(ip, 1), time.Hour)
			require.NoError(t, err)
		}
		disk.broken = true
		register("10.0.0.1")
		disk.broken = false
		register("10.0.0.2")
		require.EqualValues(t, 1, reg.Stats().SaveErrors)
		time.Sleep(time.Second)
		synctest.Wait()
		register("10.0.0.3")

		// As it is on disk at this moment.
		copied := t.TempDir()
		files, err := os.ReadDir(path)
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(path, f.Name()))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(copied, f.Name()), text, 0o600))
		}
		killed(t, copied, func(reg *embedded.Registry) {
			assert.Equal(t, []string{"s  10.0.0.1:1 map[]", "s  10.0.0.2:1 map[]", "s  10.0.0.3:1 map[]"}, records(t, reg, "s"))
		})
	})
}

// Whatever is done, a registry that is killed knows it all, with snapshots in
// between or not; and parts of the journal do not pile up.
func TestJournalModel(t *testing.T) {
	for seed := range uint64(20) {
		path := t.TempDir()
		random := rand.New(rand.NewPCG(seed, 0))
		owners := []rc.Owner{bridge, {Cluster: "c1", Bridge: 2, Incarnation: 1}}
		var want []string
		names := []string{"a", "b"}
		generation := uint64(0)
		for range 5 {
			killed(t, path, func(reg *embedded.Registry) {
				require.Equal(t, want, records(t, reg, names...), "seed %d", seed)
				for range 30 {
					s := service(names[random.IntN(2)])
					i := native(fmt.Sprintf("10.0.0.%d", random.IntN(5)), 1)
					i.Metadata = map[string]string{"v": fmt.Sprint(random.IntN(3))}
					switch random.IntN(6) {
					case 0, 1:
						_, err := reg.Register(s, i, time.Minute)
						require.NoError(t, err)
					case 2:
						_ = reg.Deregister(s, i.Address())
					case 3, 4:
						o := random.IntN(2)
						if random.IntN(8) == 0 {
							owners[o].Incarnation++
						}
						generation++
						var list []rc.Instance
						for range random.IntN(4) {
							list = append(list, native(fmt.Sprintf("10.0.1.%d", random.IntN(6)), 1))
						}
						_, err := reg.Publish(rc.Publication{Owner: owners[o], Service: s, Generation: generation, Instances: list}, time.Minute)
						require.NoError(t, err)
					case 5:
						if random.IntN(5) == 0 {
							require.NoError(t, embedded.Save(reg))
						}
					}
				}
				want = records(t, reg, names...)
				if random.IntN(2) == 0 {
					require.NoError(t, embedded.Save(reg))
					left, err := filepath.Glob(filepath.Join(path, "registry.journal.*"))
					require.NoError(t, err)
					require.Len(t, left, 1)
				}
			})
		}
	}
}

// A bridge whose data directory was lost, or put back from a backup, counts its starts
// anew: it is let in as soon as the lease of its earlier life has lapsed.
func TestEarlierIncarnationAfterTheLeaseHasLapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{})
		next := bridge
		next.Incarnation = 7
		p := rc.Publication{Owner: next, Service: service("s"), Generation: 9, Instances: []rc.Instance{native("10.0.0.1", 1)}}
		_, err := reg.Publish(p, 30*time.Second)
		require.NoError(t, err)
		time.Sleep(29 * time.Second)
		_, err = reg.Renew(bridge, 30*time.Second)
		require.ErrorIs(t, err, rc.ErrStale)
		time.Sleep(time.Second)
		synctest.Wait()
		p.Owner, p.Generation = bridge, 1
		_, err = reg.Publish(p, 30*time.Second)
		require.NoError(t, err)
		_, err = reg.Renew(next, 30*time.Second)
		require.NoError(t, err, "the newer one, if it lives after all, is heard")
		_, err = reg.Renew(bridge, 30*time.Second)
		require.ErrorIs(t, err, rc.ErrStale)
	})
}

// The least that a bridge has to come back after a restart of the registry.
func TestShortLeaseAfterARestart(t *testing.T) {
	path := t.TempDir()
	killed(t, path, func(reg *embedded.Registry) {
		_, err := reg.Publish(rc.Publication{Owner: bridge, Service: service("s"), Instances: []rc.Instance{native("10.0.0.1", 1)}}, time.Second)
		require.NoError(t, err)
	})
	synctest.Test(t, func(t *testing.T) {
		dir, err := embedded.OpenDir(path)
		require.NoError(t, err)
		reg, stop := startStop(t, embedded.Config{Disk: dir})
		defer func() {
			stop()
			require.NoError(t, dir.Close())
		}()
		time.Sleep(9 * time.Second)
		require.Len(t, records(t, reg, "s"), 1)
		time.Sleep(2 * time.Second)
		require.Empty(t, records(t, reg, "s"))
	})
}

// After damage the registry knows a part at most. It does not say so to applications as
// if it were all; bridges, which know better, are told.
func TestDamagedRegistryTellsNobodyAnEmptyList(t *testing.T) {
	whole := []byte("zkbridge-registry 1 00000000\n{}")
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{Disk: &memory{file: whole}})
		h := embedded.NewHandler(reg, embedded.HandlerConfig{})
		ask := func(method, path, body string) (int, string) {
			t.Helper()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
			return w.Code, w.Body.String()
		}
		const group = "/v1/namespaces/public/groups/DEFAULT_GROUP"
		code, _ := ask("PUT", group+"/services/s/instances/10.0.0.1:1", `{"ttl":"1m"}`)
		require.Equal(t, 201, code, "who registers is welcome")
		reads := []string{group + "/services/s/instances", group + "/services/s/instances/10.0.0.1:1", group + "/services", "/v1/services"}
		for _, path := range append(reads, group+"/services/s/watch") {
			code, text := ask("GET", path, "")
			require.Equal(t, 503, code, path)
			require.Contains(t, text, "keep the list that you have", path)
		}
		code, _ = ask("GET", "/v1/status", "")
		require.Equal(t, 200, code)
		time.Sleep(31 * time.Second)
		for _, path := range reads {
			code, text := ask("GET", path, "")
			require.Equal(t, 200, code, path)
			require.Regexp(t, `10\.0\.0\.1|"service":"s"`, text, path)
		}
	})
}
