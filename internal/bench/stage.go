package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zkbridge/zkproto"
)

// root is the directory of what does not look like Dubbo.
const root = "/zkbridge-bench"

// stage is the persistent nodes of a case on one server.
type stage struct {
	server Server
	made   []string // by us, to be removed again
}

// build makes nodes, parents first. Those that are there are left as they are,
// and stay when the case is over.
func (s *stage) build(ctx context.Context, data []byte, paths ...string) error {
	c, err := dial(ctx, s.server.Addr, 4<<10)
	if err != nil {
		return err
	}
	defer func() { _ = c.end() }()
	for _, path := range paths {
		switch err := c.create(path, data, zkproto.FlagPersistent); {
		case err == nil:
			s.made = append(s.made, path)
		case !errors.Is(err, zkproto.NodeExists):
			return err
		}
	}
	return nil
}

// clear removes what build made, as far as it is empty.
func (s *stage) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := dial(ctx, s.server.Addr, 4<<10)
	if err != nil {
		return
	}
	defer func() { _ = c.end() }()
	for _, path := range slices.Backward(s.made) {
		_ = c.delete(path)
	}
	s.made = nil
}

func serviceName(i int) string { return fmt.Sprintf("com.example.bench.Service%03d", i) }

func providersDir(service int) string { return "/dubbo/" + serviceName(service) + "/providers" }

// serviceDirs are the directories of n Dubbo services, parents first.
func serviceDirs(n int) []string {
	paths := []string{"/dubbo"}
	for i := range n {
		paths = append(paths, "/dubbo/"+serviceName(i), providersDir(i))
	}
	return paths
}

// providerName is a node name like those that Dubbo registers, 480 bytes long.
// No two of (service, n, turn) have the same; n is below 1<<24.
func providerName(service, n, turn int) string {
	iface := serviceName(service)
	name := fmt.Sprintf("tri%%3A%%2F%%2F10.%d.%d.%d%%3A20880%%2F%s%%3Fapplication%%3Dbench-provider%%26deprecated%%3Dfalse%%26dubbo%%3D2.0.2%%26dynamic%%3Dtrue"+
		"%%26generic%%3Dfalse%%26interface%%3D%s%%26methods%%3Dgreet%%2Cecho%%2Csum%%26pid%%3D1%%26prefer.serialization%%3Dhessian2%%2Cfastjson2%%26release%%3D3.3.6"+
		"%%26side%%3Dprovider%%26timestamp%%3D%d%%26revision%%3D", n>>16, n>>8&255, n&255, iface, iface, 1760000000000+int64(turn))
	for len(name) < 480 {
		name += "0"
	}
	return name
}
