package payload

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Payload is one message in either direction.
type Payload struct {
	Type     string            // simple name of the Java class of the body
	Headers  map[string]string // such as accessToken; nil if there are none
	ClientIP string
	Body     []byte // JSON
}

// Field numbers of nacos_grpc_service.proto and of google.protobuf.Any.
const (
	payloadMetadata  = 2
	payloadBody      = 3
	metadataType     = 3
	metadataHeaders  = 7
	metadataClientIP = 8
	anyValue         = 2
	entryKey         = 1
	entryValue       = 2
)

// AppendTo appends the encoded message to dst. Equal messages have equal
// encodings.
func (p *Payload) AppendTo(dst []byte) []byte {
	var meta []byte
	meta = protowire.AppendTag(meta, metadataType, protowire.BytesType)
	meta = protowire.AppendString(meta, p.Type)
	for _, k := range slices.Sorted(maps.Keys(p.Headers)) {
		var entry []byte
		entry = protowire.AppendTag(entry, entryKey, protowire.BytesType)
		entry = protowire.AppendString(entry, k)
		entry = protowire.AppendTag(entry, entryValue, protowire.BytesType)
		entry = protowire.AppendString(entry, p.Headers[k])
		meta = protowire.AppendTag(meta, metadataHeaders, protowire.BytesType)
		meta = protowire.AppendBytes(meta, entry)
	}
	if p.ClientIP != "" {
		meta = protowire.AppendTag(meta, metadataClientIP, protowire.BytesType)
		meta = protowire.AppendString(meta, p.ClientIP)
	}
	dst = protowire.AppendTag(dst, payloadMetadata, protowire.BytesType)
	dst = protowire.AppendBytes(dst, meta)
	value := protowire.SizeTag(anyValue) + protowire.SizeBytes(len(p.Body))
	dst = protowire.AppendTag(dst, payloadBody, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(value))
	dst = protowire.AppendTag(dst, anyValue, protowire.BytesType)
	return protowire.AppendBytes(dst, p.Body)
}

// ErrMalformed is wrapped by what Decode answers to bytes that are no Payload.
var ErrMalformed = errors.New("malformed Nacos payload")

// Decode reads an encoded message into p, whose fields it replaces. The body is
// a part of src. Unknown fields are skipped.
func (p *Payload) Decode(src []byte) error {
	*p = Payload{}
	return fields(src, func(n protowire.Number, v []byte) error {
		switch n {
		case payloadMetadata:
			return fields(v, p.metadata)
		case payloadBody:
			return fields(v, func(n protowire.Number, v []byte) error {
				if n == anyValue {
					p.Body = v
				}
				return nil
			})
		}
		return nil
	})
}

func (p *Payload) metadata(n protowire.Number, v []byte) error {
	switch n {
	case metadataType:
		p.Type = string(v)
	case metadataClientIP:
		p.ClientIP = string(v)
	case metadataHeaders:
		var key, value string
		err := fields(v, func(n protowire.Number, v []byte) error {
			switch n {
			case entryKey:
				key = string(v)
			case entryValue:
				value = string(v)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if p.Headers == nil {
			p.Headers = make(map[string]string)
		}
		p.Headers[key] = value
	}
	return nil
}

// fields calls fn with each length-delimited field of a message.
func fields(src []byte, fn func(protowire.Number, []byte) error) error {
	for len(src) > 0 {
		number, kind, n := protowire.ConsumeTag(src)
		if n < 0 {
			return fmt.Errorf("%w: tag: %w", ErrMalformed, protowire.ParseError(n))
		}
		src = src[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, src); n < 0 {
				return fmt.Errorf("%w: field %d: %w", ErrMalformed, number, protowire.ParseError(n))
			}
			src = src[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(src)
		if n < 0 {
			return fmt.Errorf("%w: field %d: %w", ErrMalformed, number, protowire.ParseError(n))
		}
		src = src[n:]
		if err := fn(number, v); err != nil {
			return err
		}
	}
	return nil
}
