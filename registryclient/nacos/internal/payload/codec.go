package payload

import "fmt"

// Codec is the gRPC codec of Payload. It is handed to each call and to each
// server; it is not registered.
type Codec struct{}

// Marshal encodes a *Payload.
func (Codec) Marshal(v any) ([]byte, error) {
	p, ok := v.(*Payload)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T to Nacos", v)
	}
	return p.AppendTo(make([]byte, 0, len(p.Body)+256)), nil
}

// Unmarshal decodes into a *Payload.
func (Codec) Unmarshal(data []byte, v any) error {
	p, ok := v.(*Payload)
	if !ok {
		return fmt.Errorf("cannot receive a %T from Nacos", v)
	}
	// gRPC reuses data.
	return p.Decode(append([]byte(nil), data...))
}

// Name gives the content-subtype, which is protobuf's.
func (Codec) Name() string { return "proto" }

// Names of the two methods. The proto file has no package.
const (
	MethodRequest = "/Request/request"
	MethodStream  = "/BiRequestStream/requestBiStream"
)
