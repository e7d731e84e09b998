package bridge

import (
	"net/http"

	"zkbridge/internal/adminserver"
	"zkbridge/internal/config"
)

// commands are the AdminServer's commands of this bridge.
func (b *Bridge) commands() http.Handler {
	return adminserver.Handler(adminserver.Config{
		Server:   b.server,
		Ready:    b.binding.Ready,
		Initial:  config.YAML(b.cfg.WithoutSecrets(), false),
		Snapshot: func() int64 { st := b.tree.Stats(); return min(st.Zxid, st.Durable) },
	})
}
