package translate_test

import (
	"testing"

	"zkbridge/translate"
)

func BenchmarkClassify(b *testing.B) {
	d := translate.NewDubbo("a7")
	b.ReportAllocs()
	for b.Loop() {
		d.Classify("com.acme.order.OrderService/providers/" + javaProvider)
	}
}

func BenchmarkFromZnode(b *testing.B) {
	d := translate.NewDubbo("a7")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.FromZnode("com.acme.order.OrderService/providers/"+javaProvider, nil); err != nil {
			b.Fatal(err)
		}
	}
}
