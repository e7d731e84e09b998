package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"zkbridge/registryclient"
)

// ownerFile keeps from where the registry is told to count the starts of this
// data directory.
const ownerFile = "registry.first-start"

// counting is the beginning of the count for data directories made now: so
// that one that replaces another that was lost is newer to the registry, which
// else would take it for a bridge that is overtaken.
var counting = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// owner is this bridge as the registry knows it.
func (b *Bridge) owner(cluster string) (registryclient.Owner, error) {
	starts := b.store.Incarnation()
	o := registryclient.Owner{Cluster: cluster, Bridge: uint8(b.cfg.Bridge.ID), Incarnation: starts}
	file := filepath.Join(b.cfg.Data.Dir, ownerFile)
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		first := uint32(0)
		if starts == 1 {
			first = uint32(max(time.Since(counting)/time.Second, 0))
		}
		if err := writeWhole(file, strconv.FormatUint(uint64(first), 10)+"\n"); err != nil {
			return o, fmt.Errorf("note the first start: %w", err)
		}
		o.Incarnation += first
		return o, nil
	case err != nil:
		return o, fmt.Errorf("read the first start: %w", err)
	}
	first, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return o, fmt.Errorf("%s holds %q and should hold a number; delete it, and what this bridge publishes may be refused until the registry has forgotten its earlier starts", file, text)
	}
	o.Incarnation += uint32(first)
	return o, nil
}

// writeWhole makes a file that is there whole or not at all.
func writeWhole(file, text string) error {
	tmp := file + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}
