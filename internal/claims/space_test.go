package claims_test

import (
	"testing"

	"zkbridge/internal/claims"
	"zkbridge/translate"

	"github.com/stretchr/testify/require"
)

func roots(patterns ...string) (list []claims.Root) {
	for _, p := range patterns {
		list = append(list, claims.Root{Pattern: p, Layouts: []translate.Layout{dubbo}})
	}
	return list
}

func TestLocate(t *testing.T) {
	s, err := claims.NewSpaces([]claims.Space{
		{Name: "main", Namespace: "public", Group: "DEFAULT_GROUP", Roots: roots("/dubbo")},
		{Name: "moved", Namespace: "public", Group: "NEW", Roots: roots("/dubbo/com.acme.Pay")},
		{Name: "nested", Namespace: "n", Group: "g", Roots: roots("/dubbo/teamA")},
		{Name: "tenants", Namespace: "{tenant}", Group: "g-{stage}", Roots: roots("/apps/{tenant}/{stage}/dubbo")},
		{Name: "deep", Namespace: "deep", Group: "g", Roots: roots("/apps/{x}/{y}/dubbo/more")},
	})
	require.NoError(t, err)
	for _, c := range []struct {
		name, path               string
		space, root, target, rel string
		kind                     translate.Kind
	}{
		{"the root itself", "/dubbo", "main", "/dubbo", "public/DEFAULT_GROUP", "", translate.KindRoot},
		{"a service", "/dubbo/com.acme.A", "main", "/dubbo", "public/DEFAULT_GROUP", "com.acme.A", translate.KindServiceDir},
		{"a bound directory", "/dubbo/com.acme.A/providers", "main", "/dubbo", "public/DEFAULT_GROUP", "com.acme.A/providers", translate.KindBoundDir},
		{"an address", "/dubbo/com.acme.A/providers/x", "main", "/dubbo", "public/DEFAULT_GROUP", "com.acme.A/providers/x", translate.KindAddress},
		{"a service moved by itself", "/dubbo/com.acme.Pay/providers/x", "moved", "/dubbo", "public/NEW", "com.acme.Pay/providers/x", translate.KindAddress},
		{"a name that only begins like it", "/dubbo/com.acme.Payment/providers", "main", "/dubbo", "public/DEFAULT_GROUP", "com.acme.Payment/providers", translate.KindBoundDir},
		{"a root below a root that is no service", "/dubbo/teamA/com.acme.A/providers", "nested", "/dubbo/teamA", "n/g", "com.acme.A/providers", translate.KindBoundDir},
		{"a chroot by pattern", "/apps/t1/prod/dubbo/com.acme.A/providers/x", "tenants", "/apps/t1/prod/dubbo", "t1/g-prod", "com.acme.A/providers/x", translate.KindAddress},
		{"the longer pattern wins", "/apps/t1/prod/dubbo/more/com.acme.A/providers", "deep", "/apps/t1/prod/dubbo/more", "deep/g", "com.acme.A/providers", translate.KindBoundDir},
		{"on the way to a root", "/apps/t1", "", "", "/", "", translate.KindElsewhere},
		{"a reserved name", "/dubbo/metadata/providers", "main", "/dubbo", "public/DEFAULT_GROUP", "metadata/providers", translate.KindElsewhere},
		{"no space", "/locks/a", "", "", "/", "", translate.KindElsewhere},
		{"the root of all", "/", "", "", "/", "", translate.KindElsewhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := s.Locate(c.path)
			require.Equal(t, []any{c.space, c.root, c.target, c.rel, c.kind}, []any{l.Space, l.Root, l.Target.String(), l.Rel, l.Place.Kind})
			require.Equal(t, claims.HomeTree, s.Home(c.path))
		})
	}
	require.True(t, s.Sticky("/dubbo/com.acme.A/providers"))
	require.True(t, s.Sticky("/apps/t1/prod/dubbo"))
	require.False(t, s.Sticky("/dubbo/com.acme.A/providers/x"))
	require.False(t, s.Sticky("/apps/t1"))
}

func TestSpacesAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		spaces []claims.Space
		want   []string
	}{
		{"the same root twice", []claims.Space{{Name: "a", Roots: roots("/dubbo")}, {Name: "b", Roots: roots("/dubbo")}}, []string{"/dubbo", `"a"`, `"b"`}},
		{"two patterns for one path", []claims.Space{{Name: "a", Roots: roots("/apps/{t}/dubbo")}, {Name: "b", Roots: roots("/apps/x/dubbo")}}, []string{"/apps/{t}/dubbo", "/apps/x/dubbo", `"a"`, `"b"`}},
		{"patterns that cross", []claims.Space{{Name: "a", Roots: roots("/{t}/x", "/y/{u}")}}, []string{"/{t}/x", "/y/{u}"}},
		{"a name twice", []claims.Space{{Name: "a", Roots: roots("/x")}, {Name: "a", Roots: roots("/y")}}, []string{`two spaces are called "a"`}},
		{"no name", []claims.Space{{Roots: roots("/x")}}, []string{"no name"}},
		{"a target's part that the root has not", []claims.Space{{Name: "a", Namespace: "{tenant}", Roots: roots("/dubbo")}}, []string{"{tenant}", "/dubbo"}},
		{"relative", []claims.Space{{Name: "a", Roots: roots("dubbo")}}, []string{"not an absolute path"}},
		{"the root of all", []claims.Space{{Name: "a", Roots: roots("/")}}, []string{"not an absolute path"}},
		{"an empty part", []claims.Space{{Name: "a", Roots: roots("/a//b")}}, []string{"no name"}},
		{"half a brace", []claims.Space{{Name: "a", Roots: roots("/a/x{b}")}}, []string{"braces"}},
		{"a variable twice", []claims.Space{{Name: "a", Roots: roots("/{a}/{a}")}}, []string{"used twice"}},
		{"ZooKeeper's own", []claims.Space{{Name: "a", Roots: roots("/zookeeper/dubbo")}}, []string{"ZooKeeper's own"}},
		{"no layout", []claims.Space{{Name: "a", Roots: []claims.Root{{Pattern: "/x"}}}}, []string{"no layout"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := claims.NewSpaces(c.spaces)
			require.Error(t, err)
			for _, w := range c.want {
				require.ErrorContains(t, err, w)
			}
		})
	}
}
