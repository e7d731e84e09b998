package payload_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/registryclient/nacos/internal/payload"
)

// The bytes are those of the generated code of protoc-gen-go, field by field.
func TestPayload(t *testing.T) {
	for _, c := range []struct {
		name string
		in   payload.Payload
		wire string
	}{
		{"empty", payload.Payload{}, "12021a00" + "1a021200"},
		{
			"type and body",
			payload.Payload{Type: "HealthCheckRequest", Body: []byte(`{}`)},
			"12141a12" + hex.EncodeToString([]byte("HealthCheckRequest")) + "1a0412027b7d",
		},
		{
			"headers are sorted",
			payload.Payload{Type: "A", Headers: map[string]string{"b": "2", "a": "1"}, ClientIP: "::1", Body: []byte(`{}`)},
			"12181a0141" + "3a060a0161120131" + "3a060a0162120132" + "42033a3a31" + "1a0412027b7d",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.in.AppendTo(nil)
			require.Equal(t, c.wire, hex.EncodeToString(got))
			var out payload.Payload
			require.NoError(t, out.Decode(got))
			require.Equal(t, c.in.Type, out.Type)
			require.Equal(t, c.in.Headers, out.Headers)
			require.Equal(t, c.in.ClientIP, out.ClientIP)
			require.Equal(t, string(c.in.Body), string(out.Body))
		})
	}
}

// What a server of another version adds is skipped.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	p := payload.Payload{Type: "A", Body: []byte("{}")}
	wire := p.AppendTo([]byte{0x08, 0x05, 0x7a, 0x01, 0x00}) // field 1 varint, field 15 bytes
	var out payload.Payload
	require.NoError(t, out.Decode(wire))
	require.Equal(t, "A", out.Type)
	for n := 1; n < len(wire)-1; n++ {
		if err := out.Decode(wire[:n]); err != nil {
			require.ErrorIs(t, err, payload.ErrMalformed)
		}
	}
}

func FuzzDecode(f *testing.F) {
	p := payload.Payload{Type: "A", Headers: map[string]string{"a": "1"}, Body: []byte("{}")}
	f.Add(p.AppendTo(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		var out, again payload.Payload
		if out.Decode(src) != nil {
			return
		}
		require.NoError(t, again.Decode(out.AppendTo(nil)))
		require.Equal(t, out.Type, again.Type)
		require.Equal(t, string(out.Body), string(again.Body))
	})
}
