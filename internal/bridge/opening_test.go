package bridge_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// TestNoSessionEndsBeforeClientsAreLetIn: a start that waits for its registry for
// longer than sessions last ends none of them: their time begins when they may
// come back.
func TestNoSessionEndsBeforeClientsAreLetIn(t *testing.T) {
	c := defaults(t)
	c.Server.TickTime = 250 * time.Millisecond
	c.Guard.Enabled = false                   // what it would spare must not need sparing
	c.Registry.Address = "http://127.0.0.1:1" // nobody
	c.Registry.StartWithoutRegistry, c.Registry.StartWait = "serve", 50*time.Millisecond
	r := start(t, c)
	ready(t, r)
	var l link
	conn, _, err := zk.Connect([]string{r.ClientAddr()}, 500*time.Millisecond, zk.WithDialer(l.dial), zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	require.NoError(t, err)
	defer conn.Close()
	makeDirs(t, conn, providers)
	path := providers + "/" + providerName("10.0.0.1:20880")
	_, err = conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	session := conn.SessionID()
	c.Server.Listen = r.ClientAddr()
	require.NoError(t, r.stop())

	l.down.Store(true)
	c.Registry.StartWait = 2 * time.Second // four times the session's timeout
	again := start(t, c)
	ready(t, again)
	_, st, err := connect(t, again).Get(path)
	require.NoError(t, err)
	require.Equal(t, session, st.EphemeralOwner)

	// From then on it has its timeout, and no more.
	other := connect(t, again)
	require.Eventually(t, func() bool {
		there, _, err := other.Exists(path)
		return err == nil && !there
	}, 5*time.Second, 20*time.Millisecond)
}
