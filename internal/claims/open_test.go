package claims_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/claims"
	"zkbridge/translate"
)

func TestIgnoresACL(t *testing.T) {
	layouts := []translate.Layout{translate.NewDubbo("test")}
	spaces, err := claims.NewSpaces([]claims.Space{{Name: "a", Namespace: "n", Group: "g", Roots: []claims.Root{
		{Pattern: "/dubbo", Layouts: layouts, IgnoreACL: true},
		{Pattern: "/apps/{tenant}/dubbo", Layouts: layouts, IgnoreACL: true},
		{Pattern: "/dubbo/com.acme.Pay", Layouts: layouts},
	}}})
	require.NoError(t, err)
	for path, want := range map[string]bool{
		"/": false, "": false, "/dubbo": true, "/dubbo/com.acme.Order/providers/x": true, "/dubbo2": false, "/other": false,
		"/apps": false, "/apps/one": false, "/apps/one/dubbo": true, "/apps/one/dubbo/x": true,
		"/dubbo/com.acme.Pay": false, "/dubbo/com.acme.Pay/providers": false,
	} {
		require.Equal(t, want, spaces.IgnoresACL(path), path)
	}
}
