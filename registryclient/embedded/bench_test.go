package embedded_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

func BenchmarkHeartbeat(b *testing.B) {
	reg, err := embedded.New(embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	for n := range 10_000 {
		if _, err := reg.Register(service(fmt.Sprint(n%100)), native(fmt.Sprint("10.0.", n/250, ".", n%250), n%100), time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	address := native("10.0.1.1", 51).Address()
	for b.Loop() {
		if _, err := reg.Heartbeat(service("51"), address); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPushOverHTTP is the way of a change: registered in process, seen by
// a subscriber of a Remote over TCP.
func BenchmarkPushOverHTTP(b *testing.B) {
	reg, c, done := remoteOverTCP(b)
	defer done()
	seen := make(chan int, 100)
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() {
		c.Subscribe(ctx, service("s"), func(s rc.Snapshot) {
			if len(s.Instances) == 1 {
				seen <- int(s.Instances[0].Weight)
			}
		})
	})
	i := native("10.0.0.1", 1)
	for n := 0; b.Loop(); n++ {
		i.Weight = float64(n%9000 + 1)
		if _, err := reg.Register(service("s"), i, time.Hour); err != nil {
			b.Fatal(err)
		}
		for w := 0; w != int(i.Weight); {
			w = <-seen
		}
	}
	cancel()
	following.Wait()
}

// BenchmarkFirstPicture is a new Remote's way to the lists of 1,000 services
// with 10 instances each.
func BenchmarkFirstPicture(b *testing.B) {
	reg, c, done := remoteOverTCP(b)
	defer done()
	for s := range 1000 {
		var list []rc.Instance
		for n := range 10 {
			list = append(list, native(fmt.Sprint("10.0.0.", n), 20880, "side", "provider", "application", "demo-application", "interface", "com.example.service.DemoService",
				"methods", "sayHello,sayHelloAsync,list,query", "release", "3.3.6", "timestamp", "1700000000000", "protocol", "dubbo", "path", "com.example.service.DemoService"))
		}
		if _, err := reg.Publish(rc.Publication{Owner: rc.Owner{Cluster: "o", Bridge: 1, Incarnation: 1}, Service: service(fmt.Sprint("s", s)), Instances: list}, time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		c.Subscribe(ctx, service("s999"), func(rc.Snapshot) { cancel() })
	}
}

func remoteOverTCP(b *testing.B) (reg *embedded.Registry, c *embedded.Remote, done func()) {
	reg, err := embedded.New(embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(embedded.NewHandler(reg, embedded.HandlerConfig{}))
	if c, err = embedded.NewRemote(embedded.RemoteConfig{Address: srv.URL, Owner: bridge}); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { reg.Run(ctx) })
	running.Go(func() { c.Run(ctx) })
	return reg, c, func() {
		cancel()
		running.Wait()
		srv.Close()
	}
}

// BenchmarkJournal is what the journal adds to a change: of one native instance,
// and of one instance in a bridge's list of a thousand.
func BenchmarkJournal(b *testing.B) {
	for _, kept := range []string{"none", "kept"} {
		open := func(b *testing.B) *embedded.Registry {
			cfg := embedded.Config{}
			if kept == "kept" {
				dir, err := embedded.OpenDir(b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { dir.Close() })
				cfg.Disk = dir
			}
			reg, err := embedded.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			return reg
		}
		b.Run("native/"+kept, func(b *testing.B) {
			reg, i := open(b), native("10.0.0.1", 1)
			for n := 0; b.Loop(); n++ {
				i.Weight = float64(n % 9000)
				if _, err := reg.Register(service("s"), i, time.Hour); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("list/"+kept, func(b *testing.B) {
			reg := open(b)
			p := rc.Publication{Owner: bridge, Service: service("s")}
			for n := range 1000 {
				p.Instances = append(p.Instances, native(fmt.Sprintf("10.0.%d.%d", n/250, n%250), 1))
			}
			for n := 0; b.Loop(); n++ {
				p.Instances[n%1000].Weight = float64(n % 9000)
				p.Generation++
				if _, err := reg.Publish(p, time.Hour); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
