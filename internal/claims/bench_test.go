package claims_test

import (
	"fmt"
	"testing"

	"zkbridge/registryclient"
)

func crowd(n int) (list []provider) {
	for i := range n {
		list = append(list, provider{"com.acme.A", "dubbo", fmt.Sprintf("10.0.%d.%d", i/200, i%200+1), 20880, "", "methods=a,b,c,d,e,f"})
	}
	return list
}

// What a create and a delete cost with the book behind the tree.
func BenchmarkCreateAndDelete(b *testing.B) {
	for _, c := range []struct {
		name, path string
	}{{"outside of all roots", "/x/node"}, {"provider among 2500", crowd(2501)[2500].path()}} {
		b.Run(c.name, func(b *testing.B) {
			x := newBench(b)
			x.mkdir("/x")
			x.mkdir(dirA)
			x.open(1)
			for _, p := range crowd(2500) {
				if err := x.register(1, p.path()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				x.register(1, c.path)
				x.remove(1, c.path)
			}
		})
	}
}

func BenchmarkPublications(b *testing.B) {
	x := newBench(b)
	x.mkdir(dirA)
	x.open(1)
	for _, p := range crowd(2500) {
		x.register(1, p.path())
	}
	b.ReportAllocs()
	for range b.N {
		x.book.Publications(serviceA)
	}
}

// One instance of 2500 changes in place.
func BenchmarkImport(b *testing.B) {
	x := newBench(b)
	var lists [2][]registryclient.Instance
	for i := range lists {
		all := crowd(2500)
		all[7].extra = fmt.Sprintf("weight=%d", i)
		lists[i] = natives(all...)
	}
	b.ReportAllocs()
	for i := range b.N {
		x.book.Import(serviceA, lists[i%2])
	}
}
