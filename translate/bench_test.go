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

func BenchmarkInstanceFromZnode(b *testing.B) {
	rel, data := "demo-provider/192.0.2.10:22005", []byte(`{"name":"demo-provider","id":"192.0.2.10:22005","address":"192.0.2.10","port":22005,"sslPort":null,"payload":{"@class":"org.apache.dubbo.registry.zookeeper.ZookeeperInstance","id":"192.0.2.10:22005","name":"demo-provider","metadata":{"dubbo.endpoints":"[{\"port\":22005,\"protocol\":\"dubbo\"}]","dubbo.metadata-service.url-params":"{\"prefer.serialization\":\"hessian2,fastjson2\",\"version\":\"1.0.0\",\"dubbo\":\"2.0.2\",\"release\":\"3.3.6\",\"side\":\"provider\",\"port\":\"22005\",\"protocol\":\"dubbo\"}","dubbo.metadata.revision":"512cf653500a9fe8e153e557f5489375","dubbo.metadata.storage-type":"local","meta-v":"1.0.0","timestamp":"1796089597998"}},"registrationTimeUTC":1796089602183,"serviceType":"DYNAMIC","uriSpec":null}`)
	d := translate.NewDubboApp("a7")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.FromZnode(rel, data); err != nil {
			b.Fatal(err)
		}
	}
}
