package claims_test

import (
	"slices"
	"testing"

	"zkbridge/internal/claims"
	"zkbridge/internal/znode"
)

// A tree that comes from disk reports its start-up transaction to the hook while
// it is made, before Load. The targets of the fixed roots must not be lost by
// that: after a restart nothing would be imported any more.
func TestTargetsOutliveTheTreesStart(t *testing.T) {
	spaces, err := claims.NewSpaces(oneSpace())
	if err != nil {
		t.Fatal(err)
	}
	book := claims.NewBook(claims.BookConfig{Spaces: spaces, Reserved: reserved, Bridge: 7, Incarnation: 3})
	book.Committed(1)
	var got []claims.Target
	book.OnTarget(func(target claims.Target, _ bool) { got = append(got, target) })
	tree, err := znode.New(znode.Config{Reserved: reserved, Hook: book})
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Load(tree); err != nil {
		t.Fatal(err)
	}
	if want := []claims.Target{{Namespace: "public", Group: "DEFAULT_GROUP"}}; !slices.Equal(got, want) {
		t.Fatalf("got targets %v, want %v", got, want)
	}
}
