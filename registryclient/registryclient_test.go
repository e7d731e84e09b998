package registryclient_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	rc "zkbridge/registryclient"
)

func TestErrors(t *testing.T) {
	all := map[rc.Kind]error{rc.NotFound: rc.ErrNotFound, rc.Unavailable: rc.ErrUnavailable, rc.Denied: rc.ErrDenied, rc.Invalid: rc.ErrInvalid, rc.Stale: rc.ErrStale}
	cause := errors.New("the cause")
	for kind := range all {
		err := fmt.Errorf("wrapped: %w", &rc.Error{Op: "publish", Service: rc.Service{Namespace: "n", Group: "g", Name: "s"}, Kind: kind, Err: cause})
		assert.ErrorIs(t, err, cause)
		for other, sentinel := range all {
			assert.Equal(t, kind == other, errors.Is(err, sentinel), "%v is %v", kind, sentinel)
		}
		assert.Equal(t, kind == rc.Unavailable, rc.Retryable(err), "%v retryable", kind)
		assert.Equal(t, "wrapped: publish n/g/s: "+kind.String()+": the cause", err.Error())
	}
	assert.False(t, rc.Retryable(cause))
	assert.Equal(t, "renew: denied", (&rc.Error{Op: "renew", Kind: rc.Denied}).Error())
}

func drawInstance(t *rapid.T) rc.Instance {
	return rc.Instance{
		IP: rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2"}).Draw(t, "ip"), Port: rapid.IntRange(1, 2).Draw(t, "port"),
		Cluster: rapid.SampledFrom([]string{"", "DEFAULT"}).Draw(t, "cluster"), Weight: float64(rapid.IntRange(0, 1).Draw(t, "weight")),
		Enabled: rapid.Bool().Draw(t, "enabled"), Healthy: rapid.Bool().Draw(t, "healthy"),
		Metadata: rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"", "1", "2"}), 0, 3).Draw(t, "metadata"),
	}
}

func TestCompareIsATotalOrderThatAgreesWithEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawInstance(t), drawInstance(t), drawInstance(t)
		if a.Compare(b) != -b.Compare(a) {
			t.Fatalf("%v and %v: got %d one way and %d the other", a, b, a.Compare(b), b.Compare(a))
		}
		if (a.Compare(b) == 0) != a.Equal(b) {
			t.Fatalf("%v and %v: got %d from Compare and %v from Equal", a, b, a.Compare(b), a.Equal(b))
		}
		list := []rc.Instance{a, b, c}
		slices.SortFunc(list, rc.Instance.Compare)
		if list[0].Compare(list[1]) > 0 || list[1].Compare(list[2]) > 0 || list[0].Compare(list[2]) > 0 {
			t.Fatalf("got %v, which is not in order", list)
		}
		d := a.Clone()
		if !d.Equal(a) {
			t.Fatalf("got %v as clone of %v", d, a)
		}
	})
}

func TestNilMetadataIsEmptyMetadata(t *testing.T) {
	a, b := rc.Instance{IP: "10.0.0.1"}, rc.Instance{IP: "10.0.0.1", Metadata: map[string]string{}}
	assert.True(t, a.Equal(b))
	assert.Zero(t, a.Compare(b))
}

func TestAddress(t *testing.T) {
	assert.Equal(t, "10.0.0.1:20880", rc.Instance{IP: "10.0.0.1", Port: 20880}.Address())
	assert.Equal(t, "[fe80::1]:1", rc.Instance{IP: "fe80::1", Port: 1}.Address())
}
