package sessions_test

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/sessions"
)

func TestSessionIDs(t *testing.T) {
	m := newManager(t, func(c *sessions.Config) { c.Bridge, c.Incarnation = 0x2a, 0x010203 })
	first, _ := create(t, m, time.Second)
	second, _ := create(t, m, time.Second)
	require.Equal(t, int64(0x2a_010203_00000001), first.ID())
	require.Equal(t, int64(0x2a_010203_00000002), second.ID())
	require.Equal(t, "0x2a01020300000001", first.String())

	high := newManager(t, func(c *sessions.Config) { c.Bridge, c.Incarnation = 254, sessions.MaxIncarnation })
	s, _ := create(t, high, time.Second)
	require.Equal(t, uint64(0xfe_ffffff_00000001), uint64(s.ID()))
	require.Negative(t, s.ID(), "ids of the upper bridges are negative, as ZooKeeper's are")

	require.Equal(t, uint64(0xfe00_0000_0000_0000), uint64(sessions.ReservedID(254)))
	require.Equal(t, int64(0x0100_0000_0000_0000), sessions.ReservedID(1))
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*sessions.Config)
		want   string
	}{
		{"bridge 0", func(c *sessions.Config) { c.Bridge = 0 }, "bridge id 0 is not in 1 to 254"},
		{"bridge 255", func(c *sessions.Config) { c.Bridge = 255 }, "bridge id 255 is not in 1 to 254"},
		{"bridge 128", func(c *sessions.Config) { c.Bridge = 128 }, "bridge id 128 cannot be used: its reserved session id is ZooKeeper's mark of a container node"},
		{"incarnation", func(c *sessions.Config) { c.Incarnation = 1 << 24 }, "incarnation 16777216 is above 16777215: start with a fresh data directory"},
		{"short key", func(c *sessions.Config) { c.Key = make([]byte, 15) }, "the password key has 15 bytes, it needs at least 16"},
		{"bounds crossed", func(c *sessions.Config) { c.MinTimeout, c.MaxTimeout = 5*time.Second, 4*time.Second }, "session timeouts from 5s to 4s: the lower bound must be at least 1ms and not above the upper one"},
		{"negative bound", func(c *sessions.Config) { c.MinTimeout = -1 }, "session timeouts from -1ns to 40s: the lower bound must be at least 1ms and not above the upper one"},
		{"nobody to expire", func(c *sessions.Config) { c.Expire = nil }, "sessions without Expire would leave their nodes behind"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := sessions.Config{Bridge: 1, Key: testKey, Expire: func(*sessions.Session) {}}
			tc.change(&cfg)
			_, err := sessions.New(cfg)
			require.EqualError(t, err, tc.want)
		})
	}
}

// TestPassword pins the recipe: a bridge of a later version, or another one with
// the same key, must compute the same bytes.
func TestPassword(t *testing.T) {
	passwd := func(change func(*sessions.Config)) string {
		s, _ := create(t, newManager(t, change), time.Second)
		require.Len(t, s.Passwd(), sessions.PasswdSize)
		return hex.EncodeToString(s.Passwd())
	}
	// printf '\x01\x00\x00\x07\x00\x00\x00\x01\x01\x00\x00\x00\x01' |
	//   openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
	want := "03" + "00000001" + "a8350c4639d49642710a13"
	require.Equal(t, want, passwd(func(*sessions.Config) {}))

	require.NotEqual(t, want, passwd(func(c *sessions.Config) { c.KeyID = 4 }))
	for name, change := range map[string]func(*sessions.Config){
		"bridge":      func(c *sessions.Config) { c.Bridge = 2 },
		"incarnation": func(c *sessions.Config) { c.Incarnation = 8 },
		"key":         func(c *sessions.Config) { c.Key = append([]byte("x"), testKey...) },
	} {
		require.NotEqual(t, want[10:], passwd(change)[10:], name)
	}
}

// TestPasswordAfterRestart: the same key and id give the same password, whatever
// process computes it.
func TestPasswordAfterRestart(t *testing.T) {
	one, _ := create(t, newManager(t), time.Second)
	two, _ := create(t, newManager(t), time.Second)
	require.Equal(t, one.ID(), two.ID())
	require.Equal(t, one.Passwd(), two.Passwd())
}

func TestTenure(t *testing.T) {
	m := newManager(t)
	s, _ := create(t, m, time.Second)
	require.Equal(t, sessions.Tenure{Epoch: 1, Bridge: 1, Incarnation: 7}, s.Tenure())
	s.Establish(0x55)
	require.Equal(t, sessions.Tenure{Epoch: 1, Zxid: 0x55, Bridge: 1, Incarnation: 7}, s.Tenure())
	require.Equal(t, "1/0x55@1.7", s.Tenure().String())
}

func TestTenureCompare(t *testing.T) {
	base := sessions.Tenure{Epoch: 2, Zxid: 10, Bridge: 3, Incarnation: 4}
	require.Zero(t, base.Compare(base))
	for name, later := range map[string]sessions.Tenure{
		"epoch decides": {Epoch: 3, Zxid: 1, Bridge: 1, Incarnation: 1},
		"then zxid":     {Epoch: 2, Zxid: 11, Bridge: 1, Incarnation: 1},
		"then bridge":   {Epoch: 2, Zxid: 10, Bridge: 4, Incarnation: 1},
		"incarnation":   {Epoch: 2, Zxid: 10, Bridge: 3, Incarnation: 5},
	} {
		require.Equal(t, -1, base.Compare(later), name)
		require.Equal(t, 1, later.Compare(base), name)
	}
}

// TestNegotiate names field report 11: Dubbo asks for 60 s and gets 40.
//
// Pitfall P33: the five seconds that dubbo-go asks for are granted.
func TestNegotiate(t *testing.T) {
	usual := newManager(t)
	wide := newManager(t, func(c *sessions.Config) { c.MinTimeout, c.MaxTimeout = time.Second, 5*time.Minute })
	above := newManager(t, func(c *sessions.Config) { c.MinTimeout = time.Minute })
	for _, tc := range []struct {
		name  string
		m     *sessions.Manager
		asked int32
		want  time.Duration
	}{
		{"Dubbo", usual, 60_000, 40 * time.Second},
		{"zkclient", usual, 30_000, 30 * time.Second},
		{"dubbo-go registry", usual, 5_000, 5 * time.Second},
		{"dubbo-go config center", usual, 3_000, 4 * time.Second},
		{"odd", usual, 12_345, 12_345 * time.Millisecond},
		{"zero", usual, 0, 4 * time.Second},
		{"negative", usual, -1, 4 * time.Second},
		{"smallest", usual, -1 << 31, 4 * time.Second},
		{"largest", usual, 1<<31 - 1, 40 * time.Second},
		{"bounds of one's own, below", wide, 1, time.Second},
		{"bounds of one's own, within", wide, 60_000, time.Minute},
		{"bounds of one's own, above", wide, 3_600_000, 5 * time.Minute},
		{"lower bound above the usual upper one", above, 1, time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.m.Negotiate(tc.asked))
		})
	}
}
