package znode

import "context"

// Store keeps what must outlive the process in one append-only file of the data
// directory: persistent nodes, the clock's reservation, the cluster id, the
// incarnation, the password key.
type Store struct{}

// OpenStore opens or makes the data directory, locks it, cuts a torn tail,
// rewrites the file without what is out of date, and takes the next incarnation
// (synced before it returns). It refuses a directory that another process holds,
// a file of a newer format and one that is damaged before its end.
func OpenStore(dir string) (*Store, error) { panic("not written yet") }

// ClusterID is the id made for this data directory: eight hex digits.
func (s *Store) ClusterID() string { panic("not written yet") }

// Incarnation counts the starts of this data directory, from 1.
func (s *Store) Incarnation() uint32 { panic("not written yet") }

// Secret is the password key (32 random bytes) and its id.
func (s *Store) Secret() []byte { panic("not written yet") }

// KeyID is the id of Secret.
func (s *Store) KeyID() byte { panic("not written yet") }

// Run writes until ctx ends: the only writer, all that waits in one write and
// one sync. When ctx ends it writes what is left and the exact clock. An error of
// the disk ends it with an error that names file, reason and remedy; nothing
// becomes durable after that.
func (s *Store) Run(ctx context.Context) error { panic("not written yet") }

// Close releases the directory. Run must have returned.
func (s *Store) Close() error { panic("not written yet") }
