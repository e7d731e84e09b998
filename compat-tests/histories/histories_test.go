//go:build compat

package histories_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/histories"
	"zkbridge/compat-tests/wire"
)

var (
	wanted = flag.Int("operations", 100_000, "requests and handshakes to send to each server")
	seed   = flag.Uint64("seed", 0, "of the first history; 0: one of its own for each run")
)

func TestMain(m *testing.M) { os.Exit(control.Isolate(m)) }

// round is how many histories rapid draws from one seed.
const round = 50

// options of both servers: short ticks for the expiries, TTL nodes and a super
// user. The reapers of containers and TTL nodes work by the clock, which no history
// does, and are put off.
func options() control.Options {
	return control.Options{
		Tick: wire.FastTick, MaxSession: time.Minute,
		JVM:    append(control.JVMFlags(256), "-Dznode.container.checkIntervalMs=86400000"),
		Lines:  []string{"extendedTypesEnabled=true", "DigestAuthenticationProvider.superDigest=" + wire.SuperDigest},
		Server: []string{"extendedTypes: true", "containerCheckInterval: 24h", "superDigest: " + strconv.Quote(wire.SuperDigest)},
	}
}

// TestHistories plays random histories on the control and on the bridge.
func TestHistories(t *testing.T) {
	pair := newPair(t, control.Start(t, control.ZooKeeper, options()).Addr(), control.Start(t, control.Bridge, options()).Addr())
	require.NoError(t, flag.Set("rapid.checks", fmt.Sprint(round)))
	require.NoError(t, flag.Set("rapid.nofailfile", "true"))
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano()) % 1e12
	}
	start, played := time.Now(), 0
	quick, slow := histories.Draw(false), histories.Draw(true)
	for n := uint64(0); pair.operations() < *wanted && !t.Failed(); n++ {
		require.NoError(t, flag.Set("rapid.seed", fmt.Sprint(first+n*1e6)))
		rapid.Check(t, func(t *rapid.T) {
			draw := quick
			if rapid.IntRange(0, round).Draw(t, "with expiries") == round {
				draw = slow
			}
			h := draw.Draw(t, "history")
			played++
			if difference := pair.play(h, rapid.IntRange(0, 3).Draw(t, "bound") == 3); difference != "" {
				t.Fatalf("bridge against control:\n%s\nThe history, to be played again with make histories SEED=<what -rapid.seed says>:\n%v", difference, h)
			}
		})
	}
	for _, r := range pair.raced {
		t.Logf("the control gave two answers, the other one is the bridge's:\n%s", r)
	}
	require.LessOrEqual(t, len(pair.raced), 1+played/100, "histories in which the control raced, of %d", played)
	t.Logf("what the control answered:\n%s", pair.table())
	t.Logf("%d operations in %d histories, %v, first seed %d", pair.operations(), played, time.Since(start).Round(time.Second), first)
}

// pair is two servers that must not differ.
type pair struct {
	want, got *histories.Player
	dir       string // for the transcripts that differ
	raced     []string
	seen      map[string]int // answers and events of the control
}

func newPair(t *testing.T, want, got string) *pair {
	t.Helper()
	p := &pair{dir: control.ScratchDir(t, "transcripts"), seen: map[string]int{}}
	for to, addr := range map[**histories.Player]string{&p.want: want, &p.got: got} {
		player, err := histories.NewPlayer(t.Context(), addr)
		require.NoError(t, err)
		*to = player
	}
	return p
}

func (p *pair) operations() int { return min(p.want.Operations, p.got.Operations) }

// play plays a history on both and says where they differ.
//
// A real server has races: it may close a connection late, or forget that one
// is bound to a session while another takes it over (NIOServerCnxnFactory.removeCnxn).
// So a history with a difference is played again. If the control then gives what the bridge
// gave, and the bridge gives that each time, the first answer of the control is no evidence, and is
// noted.
func (p *pair) play(h histories.History, bound bool) string {
	want, got, failure := p.once(h, bound)
	p.count(want)
	if failure == "" && want == got {
		return ""
	}
	for range 3 {
		w, g, f := p.once(h, bound)
		if failure == "" && f == "" && g == got {
			if w == got {
				p.raced = append(p.raced, histories.Compare(want, got))
				return ""
			}
			if w != want {
				continue
			}
		}
		break
	}
	for name, text := range map[string]string{"history": h.String(), "want": string(want), "got": string(got)} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			return err.Error()
		}
	}
	return cmp.Or(histories.Compare(want, got), failure)
}

var outcomes = regexp.MustCompile(`(?m)^(?:< -?\d+ (\w+) zxid=\S+ (ok \[error|ok|-\d+)|! (\w+) )`)

func (p *pair) count(t wire.Transcript) {
	for _, m := range outcomes.FindAllStringSubmatch(string(t), -1) {
		p.seen[strings.TrimSpace(m[3]+m[1]+" "+m[2])]++
	}
}

// table is what was seen, for whoever asks whether histories meet everything.
func (p *pair) table() string {
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p.seen)) {
		fmt.Fprintf(&out, "%8d %s\n", p.seen[key], key)
	}
	return out.String()
}

func (p *pair) once(h histories.History, bound bool) (want, got wire.Transcript, failure string) {
	type result struct {
		transcript wire.Transcript
		err        error
	}
	other := make(chan result)
	go func() {
		t, err := p.want.Play(h, bound)
		other <- result{t, err}
	}()
	got, err := p.got.Play(h, bound)
	r := <-other
	if r.err != nil || err != nil {
		failure = fmt.Sprintf("control: %v\nbridge: %v\n", r.err, err)
	}
	return r.transcript, got, failure
}

// TestAvoided keeps the list of what histories avoid to that of the documented
// differences.
func TestAvoided(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "wire", "differences.md"))
	require.NoError(t, err)
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(page), -1) {
		want = append(want, m[1])
	}
	for _, a := range histories.Avoided() {
		got = append(got, a.Title)
	}
	require.ElementsMatch(t, want, got)
}
