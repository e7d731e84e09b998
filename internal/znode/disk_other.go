//go:build !unix

package znode

import (
	"errors"
	"os"
)

// lockFile cannot lock a directory here: without a lock two bridges could give
// out the same zxids and session ids, so none starts.
func lockFile(*os.File) error {
	return errors.New("data directories need flock, which this system has not")
}
