package latest_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"zkbridge/registryclient/internal/latest"
)

func TestFollowersMissStepsButNotTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := latest.New[int]()
		_, set, _ := v.Look()
		assert.False(t, set)
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		var slow, quick []int
		ended := make(chan struct{}, 2)
		go func() {
			v.Follow(ctx, func(n int) {
				slow = append(slow, n)
				<-release
			})
			ended <- struct{}{}
		}()
		go func() {
			v.Follow(ctx, func(n int) { quick = append(quick, n) })
			ended <- struct{}{}
		}()
		for n := range 5 {
			synctest.Wait()
			v.Put(n)
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		cancel()
		<-ended
		<-ended
		assert.Equal(t, []int{0, 4}, slow)
		assert.Equal(t, []int{0, 1, 2, 3, 4}, quick)
	})
}
