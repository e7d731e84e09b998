package translate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The payload classes by which Dubbo and Spring Cloud know their instances. A
// reader of one throws on the other (dubbo#12243).
const (
	classDubbo  = "org.apache.dubbo.registry.zookeeper.ZookeeperInstance"
	classSpring = "org.springframework.cloud.zookeeper.discovery.ZookeeperInstance"
)

const (
	null           = "null"
	defaultURISpec = `{"parts":[{"value":"scheme","variable":true},{"value":"://","variable":false},{"value":"address","variable":true},{"value":":","variable":false},{"value":"port","variable":true}]}`
	typeDynamic    = "DYNAMIC"
	typeStatic     = "STATIC" // on a persistent node
)

// record is the JSON that Curator's x-discovery keeps in an instance's node.
type record struct {
	name    string
	id      string
	address string
	port    int // 0: none
	sslPort int // 0: none
	payload payload
	time    string // registrationTimeUTC in ms, in decimal
	kind    string // serviceType
	uriSpec string // JSON
	enabled *bool  // the tenth field, of Curator 2.12 only
	goStyle bool   // written by dubbo-go: five fields, the payload's in another order
}

// payload is the payload of a record: of one of the two known classes, or raw.
type payload struct {
	class    string // "" for a payload that has none
	id, name string
	metadata map[string]string
	raw      string // the whole of it, as it stands
}

// parseRecord reads a node's data. Fields that it does not know are passed over;
// write shows that they were there.
func parseRecord(data []byte) (record, *Refusal) {
	var in struct {
		Name, ID, Address *string
		Port, SSLPort     *int
		Payload           json.RawMessage
		Time              json.RawMessage `json:"registrationTimeUTC"`
		ServiceType       *string
		URISpec           json.RawMessage
		Enabled           *bool
	}
	if len(data) == 0 || data[0] != '{' || !utf8.Valid(data) {
		return record{}, refuse(ReasonPayload, "the node's data are not the JSON of an instance")
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return record{}, refuse(ReasonPayload, "the node's data are not the JSON of an instance: %v", err)
	}
	if in.Name == nil || in.ID == nil {
		return record{}, refuse(ReasonPayload, "the node's data have no name or no id")
	}
	r := record{
		name: *in.Name, id: *in.ID, address: deref(in.Address), port: deref(in.Port), sslPort: deref(in.SSLPort),
		time: string(in.Time), kind: deref(in.ServiceType), uriSpec: string(in.URISpec), enabled: in.Enabled,
		goStyle: in.Time == nil && in.ServiceType == nil && in.URISpec == nil,
	}
	r.payload.raw = string(in.Payload)
	if len(in.Payload) == 0 || in.Payload[0] != '{' {
		return r, nil
	}
	var p struct {
		Class    string `json:"@class"`
		ID, Name *string
		Metadata map[string]json.RawMessage
	}
	if err := json.Unmarshal(in.Payload, &p); err != nil {
		return r, nil // a class of somebody's own
	}
	r.payload.class, r.payload.id, r.payload.name = p.Class, deref(p.ID), deref(p.Name)
	r.payload.metadata = make(map[string]string, len(p.Metadata)+4)
	for k, raw := range p.Metadata {
		r.payload.metadata[k] = plainText(raw)
	}
	return r, nil
}

// plainText gives a JSON string's text, and anything else as it stands: Dubbo 2.7
// nests an object where 3.x writes its text.
func plainText(raw json.RawMessage) string {
	if n := len(raw); n > 1 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : n-1])
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// write gives the record as its family of clients writes it: nine fields from
// Java, ten from Curator 2.12, five from dubbo-go. Readers of Curator 2.12 fail
// on any other field.
func (r *record) write() []byte {
	b := make([]byte, 0, 320+len(r.payload.raw)+len(r.uriSpec))
	q := func(b []byte, s string) []byte { return appendJSON(b, s, r.goStyle) }
	number := func(b []byte, n int) []byte {
		if n == 0 {
			return append(b, null...)
		}
		return strconv.AppendInt(b, int64(n), 10)
	}
	b = q(append(b, `{"name":`...), r.name)
	b = q(append(b, `,"id":`...), r.id)
	b = q(append(b, `,"address":`...), r.address)
	b = number(append(b, `,"port":`...), r.port)
	if !r.goStyle {
		b = number(append(b, `,"sslPort":`...), r.sslPort)
	}
	b = r.writePayload(append(b, `,"payload":`...))
	if r.goStyle {
		return append(b, '}')
	}
	b = append(append(b, `,"registrationTimeUTC":`...), r.time...)
	b = q(append(b, `,"serviceType":`...), r.kind)
	b = append(append(b, `,"uriSpec":`...), r.uriSpec...)
	if r.enabled != nil {
		b = strconv.AppendBool(append(b, `,"enabled":`...), *r.enabled)
	}
	return append(b, '}')
}

func (r *record) writePayload(b []byte) []byte {
	p := &r.payload
	if p.class != classDubbo && p.class != classSpring {
		return append(b, p.raw...)
	}
	q := func(b []byte, s string) []byte { return appendJSON(b, s, r.goStyle) }
	b = q(append(b, `{"@class":`...), p.class)
	b = q(append(b, `,"id":`...), p.id)
	if !r.goStyle {
		b = q(append(b, `,"name":`...), p.name)
	}
	b = append(b, `,"metadata":{`...)
	keys := make([]string, 0, len(p.metadata))
	for k := range p.metadata {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = q(append(q(b, k), ':'), p.metadata[k])
	}
	b = append(b, '}')
	if r.goStyle {
		b = q(append(b, `,"name":`...), p.name)
	}
	return append(b, '}')
}

// appendJSON writes a string as Jackson does, or as Go's encoding/json does,
// which escapes what has a meaning in HTML.
func appendJSON(b []byte, s string, goStyle bool) []byte {
	if goStyle {
		text, _ := json.Marshal(s) // a string can always be written
		return append(b, text...)
	}
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			b = append(b, '\\', "btn fr"[c-'\b'])
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(b, '"')
}

// isJSON tells whether s is one compact JSON value.
func isJSON(s string) bool {
	var b bytes.Buffer
	return utf8.ValidString(s) && json.Compact(&b, []byte(s)) == nil && b.String() == s
}
