package bridge_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// Containers go when they are empty, but for the directories that consumers
// believe to be there for ever.
//
// Pitfall P8: clients remember for ever that a parent exists, so directories of services stay.
func TestEmptyContainersGoButForDirectoriesOfServices(t *testing.T) {
	c := defaults(t)
	c.Server.ContainerCheckInterval = 100 * time.Millisecond
	b := start(t, c)
	ready(t, b)
	conn := connect(t, b)
	container := func(path string) {
		_, err := conn.CreateContainer(path, nil, zk.FlagContainer, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	sticky := []string{"/dubbo", "/dubbo/com.acme.Greeter", "/dubbo/com.acme.Greeter/providers", "/dubbo/com.acme.Greeter/consumers"}
	for _, path := range append(sticky, "/other", "/other/inner", "/dubbo/com.acme.Greeter/providers/odd") {
		container(path)
	}
	used := append(sticky[1:], "/other/inner", "/dubbo/com.acme.Greeter/providers/odd")
	for _, path := range used {
		_, err := conn.Create(path+"/x", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		require.NoError(t, conn.Delete(path+"/x", -1))
	}
	require.Eventually(t, func() bool {
		there, _, err := conn.Exists("/other")
		require.NoError(t, err)
		return !there
	}, 10*time.Second, 20*time.Millisecond)
	for _, path := range sticky {
		there, _, err := conn.Exists(path)
		require.NoError(t, err)
		require.True(t, there, path)
	}
}

// Pitfall of mixed fleets: applications with credentials make the shared
// directories theirs, those without are to register below them all the same.
//
// Pitfall P47: roots whose fleet is mixed store ACLs without enforcing them.
func TestRootThatIgnoresACLs(t *testing.T) {
	c := defaults(t)
	c.Spaces[0].Roots[0].ACL = "ignore"
	b := start(t, c)
	ready(t, b)
	guarded, plain := connect(t, b), connect(t, b)
	require.NoError(t, guarded.AddAuth("digest", []byte("amy:secret")))
	mine := zk.AuthACL(zk.PermAll)
	for _, path := range []string{"/dubbo", "/dubbo/" + iface, providers, "/other"} {
		_, err := guarded.Create(path, nil, 0, mine)
		require.NoError(t, err)
	}
	_, _, changed, err := plain.ChildrenW(providers)
	require.NoError(t, err)
	_, err = plain.Create(providers+"/"+providerName("10.0.0.1:20880"), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	select {
	case e := <-changed:
		require.Equal(t, zk.EventNodeChildrenChanged, e.Type)
	case <-time.After(10 * time.Second):
		t.Fatal("no event on a directory of somebody else's")
	}
	list, _, err := plain.GetACL(providers)
	require.NoError(t, err)
	require.Equal(t, "digest", list[0].Scheme, "it is kept")
	_, _, err = plain.Children("/other")
	require.ErrorIs(t, err, zk.ErrNoAuth)
}

func TestQuotaIsEnforcedWhereConfigured(t *testing.T) {
	c := defaults(t)
	c.Server.EnforceQuota = true
	b := start(t, c)
	ready(t, b)
	conn := connect(t, b)
	makeDirs(t, conn, "/zookeeper/quota/app")
	makeDirs(t, conn, "/app")
	for name, text := range map[string]string{"/zookeeper_limits": "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=2", "/zookeeper_stats": "count=0,bytes=0"} {
		_, err := conn.Create("/zookeeper/quota/app"+name, []byte(text), 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	_, err := conn.Create("/app/a", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, err = conn.Create("/app/b", nil, 0, zk.WorldACL(zk.PermAll))
	require.ErrorContains(t, err, "-125")
}
