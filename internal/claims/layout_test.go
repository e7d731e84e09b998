package claims_test

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"

	"zkbridge/internal/claims"
	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/translate"

	"github.com/stretchr/testify/require"
)

// byData is a layout in which a node says in its data what it registers, as
// application-level discovery does: <service>/<id>, data "host:port".
type byData struct{}

func (byData) Name() string           { return "by-data" }
func (byData) Wants(name string) bool { return !strings.Contains(name, ":") }

func (byData) Classify(rel string) translate.Place {
	service, id, below := strings.Cut(rel, "/")
	switch {
	case rel == "":
		return translate.Place{Kind: translate.KindRoot}
	case !below:
		return translate.Place{Kind: translate.KindBoundDir, Service: service, Dir: service}
	}
	return translate.Place{Kind: translate.KindAddress, Service: service, Dir: service, Name: id}
}

func (byData) FromZnode(rel string, data []byte) (translate.Entry, error) {
	service, _, _ := strings.Cut(rel, "/")
	host, port, err := net.SplitHostPort(string(data))
	if err != nil {
		return translate.Entry{}, errors.New("its data are no address")
	}
	n, _ := strconv.Atoi(port)
	return translate.Entry{
		Service: service, Address: translate.Address{Service: service, Host: host, Port: n},
		Instance: registryclient.Instance{IP: host, Port: n, Weight: 1, Enabled: true, Healthy: true},
	}, nil
}

func (byData) ToZnode(service string, in registryclient.Instance) (translate.Znode, error) {
	return translate.Znode{
		Dir: service, Name: in.Metadata["id"], Data: []byte(in.Address()),
		Address: translate.Address{Service: service, Host: in.IP, Port: in.Port},
	}, nil
}

func byDataBench(t *testing.T) (*bench, registryclient.Service) {
	b := newBench(t, claims.Space{Name: "apps", Namespace: "n", Group: "g", Roots: []claims.Root{{Pattern: "/services", Layouts: []translate.Layout{byData{}}}}})
	b.mkdir("/services/cart")
	return b, registryclient.Service{Namespace: "n", Group: "g", Name: "cart"}
}

func withID(ip, id string) registryclient.Instance {
	return registryclient.Instance{IP: ip, Port: 80, Weight: 1, Enabled: true, Healthy: true, Metadata: map[string]string{"id": id}}
}

// Where the data of a node are its registration, new data are a new one.
func TestNewDataIsANewRegistration(t *testing.T) {
	b, cart := byDataBench(t)
	b.open(1)
	set := func(data string) {
		require.NoError(t, b.do(1, func(x *znode.Tx) error { _, err := x.SetData("/services/cart/a", []byte(data), -1); return err }))
	}
	require.NoError(t, b.register(1, "/services/cart/a"))
	require.Empty(t, b.published(cart))
	set("10.0.0.1:80")
	require.Equal(t, []string{"10.0.0.1:80  "}, b.published(cart))
	b.book.Import(cart, []registryclient.Instance{withID("10.0.0.2", "z")})
	clear(b.dirty)
	set("10.0.0.1:80")
	require.Empty(t, b.dirty, "the same data change nothing")
	set("10.0.0.2:80")
	require.Empty(t, b.published(cart), "dual registration")
	require.Equal(t, []string{"a"}, b.children("/services/cart"))
	set("nonsense")
	require.Equal(t, []string{"a", "z"}, b.children("/services/cart"))
}

// A client's node may have the name of an imported one and be no registration
// at all: then the import waits until the name is free.
func TestNameIsTaken(t *testing.T) {
	b, cart := byDataBench(t)
	b.open(1)
	require.NoError(t, b.register(1, "/services/cart/a"))
	b.book.Import(cart, []registryclient.Instance{withID("10.0.0.2", "a")})
	require.Equal(t, int64(1), b.owner("/services/cart/a"))
	require.NoError(t, b.remove(1, "/services/cart/a"))
	require.Equal(t, reserved, b.owner("/services/cart/a"))
	require.NoError(t, b.register(1, "/services/cart/a"), "adopted")
	require.Equal(t, int64(1), b.owner("/services/cart/a"))
	b.end(1)
	require.Equal(t, reserved, b.owner("/services/cart/a"))
	require.Len(t, b.book.Explain("/services/cart/a").Claims, 1)
}

// Of several instances with one address the one that was there first is shown,
// and stays when it changes.
func TestOldestOfEqualInstancesIsShown(t *testing.T) {
	b, cart := byDataBench(t)
	b.book.Import(cart, []registryclient.Instance{withID("10.0.0.2", "m")})
	b.book.Import(cart, []registryclient.Instance{withID("10.0.0.2", "m"), withID("10.0.0.2", "a")})
	require.Equal(t, []string{"m"}, b.children("/services/cart"))
	b.book.Import(cart, []registryclient.Instance{withID("10.0.0.2", "n"), withID("10.0.0.2", "a")})
	require.Equal(t, []string{"n"}, b.children("/services/cart"))
	b.book.Import(cart, []registryclient.Instance{withID("10.0.0.2", "a")})
	require.Equal(t, []string{"a"}, b.children("/services/cart"))
}
