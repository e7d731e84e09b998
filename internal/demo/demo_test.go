package demo_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/demo"
)

func TestDemoShowsBothSides(t *testing.T) {
	var out bytes.Buffer
	err := demo.Run(t.Context(), &out)
	require.NoError(t, err, out.String())
	require.Contains(t, out.String(), "ZooKeeper clients see [192.0.2.1:20880 192.0.2.2:20880], the registry's clients see [192.0.2.1:20880 192.0.2.2:20880]")
	require.Contains(t, out.String(), "ZooKeeper clients see [], the registry's clients see []")
}
