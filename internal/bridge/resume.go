package bridge

import (
	"zkbridge/internal/znode"
	"zkbridge/sessions"
)

// openStore opens the data directory. Its troubles are told in the log, and when
// they are over.
func (b *Bridge) openStore() (*znode.Store, error) {
	log := b.log.With("component", "store")
	return znode.StoreConfig{
		Dir: b.cfg.Data.Dir,
		Trouble: func(err error) {
			if err != nil {
				log.Error("the disk takes no data", "error", err)
				return
			}
			log.Info("the disk takes data again: everything is on it, and a restart will resume sessions")
		},
	}.Open()
}

// resume brings back the sessions of the life before. Those that may lack a node
// that they were told stands are ended at once: a client that is told so
// registers everything again, and one that is not would never know. Until then
// what they had registered is held.
func (b *Bridge) resume() error {
	log := b.log.With("component", "sessions")
	kept, ended := 0, 0
	for _, k := range b.tree.Sessions() {
		s, err := b.sessions.Restore(sessions.Kept{ID: k.ID, Timeout: k.Timeout, Epoch: k.Epoch, Zxid: k.Zxid, Robbed: k.Robbed})
		if err != nil {
			return err
		}
		if !k.Whole {
			b.guard.Suspect(k.ID, "the log may lack what its session did last: the machine was restarted, or the disk had failed")
			b.sessions.Expire(s)
			ended++
			continue
		}
		kept++
	}
	if kept+ended > 0 {
		log.Info("sessions of the life before", "resumed", kept, "ended", ended)
	}
	if ended > 0 {
		log.Warn("the log may lack the last ephemeral nodes, so its sessions are ended and their providers held: the machine was restarted, or the disk had failed",
			"sessions", ended)
	}
	return nil
}
