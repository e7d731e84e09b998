package znode

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// quotaText is the data of limits and stats (StatsTrack):
// count=N,bytes=M, or count=N,bytes=M=;byteHardLimit=X;countHardLimit=Y. -1 is no
// limit.
type quotaText struct {
	count, bytes int64
	more         []quotaPair // what else there is, each key once
}

type quotaPair struct {
	key   string
	value int64
}

// readQuota reads a text. ok is false where ZooKeeper cannot read it.
func readQuota(data []byte) (q quotaText, ok bool) {
	q.count, q.bytes = -1, -1
	if data == nil {
		return q, false
	}
	for _, pair := range quotaPairs(string(data)) {
		parts := javaSplit(pair)
		if len(parts) < 2 {
			return q, false
		}
		value := int64(-1)
		if parts[1] != "" {
			v, err := strconv.ParseInt(parts[1], 10, 64)
			if err != nil {
				return q, false
			}
			value = v
		}
		switch key := parts[0]; key {
		case "count":
			q.count = value
		case "bytes":
			q.bytes = value
		default:
			if i := slices.IndexFunc(q.more, func(p quotaPair) bool { return p.key == key }); i >= 0 {
				q.more[i].value = value
			} else {
				q.more = append(q.more, quotaPair{key, value})
			}
		}
	}
	return q, true
}

// quotaPairs cuts a text at runs of commas and semicolons. As in Java there is an
// empty first part if the text begins with one, and none at the end.
func quotaPairs(text string) []string {
	separator := func(r rune) bool { return r == ',' || r == ';' }
	pairs := strings.FieldsFunc(text, separator)
	if len(pairs) > 0 && separator(rune(text[0])) {
		pairs = append([]string{""}, pairs...)
	}
	return pairs
}

// javaSplit cuts at "=" and drops empty parts at the end.
func javaSplit(pair string) []string {
	parts := strings.Split(pair, "=")
	if pair == "" {
		return parts
	}
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// hard is the limit of that name, -1 if there is none.
func (q quotaText) hard(name string) int64 {
	for _, p := range q.more {
		if p.key == name {
			return p.value
		}
	}
	return -1
}

// appendTo writes the text. Other keys are in the order of a Java HashMap of up to
// twelve.
func (q quotaText) appendTo(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, "count="...), q.count, 10)
	dst = strconv.AppendInt(append(dst, ",bytes="...), q.bytes, 10)
	if len(q.more) == 0 {
		return dst
	}
	dst = append(dst, '=')
	sorted := slices.Clone(q.more)
	slices.SortStableFunc(sorted, func(a, b quotaPair) int { return javaBucket(a.key) - javaBucket(b.key) })
	for _, p := range sorted {
		dst = append(append(append(dst, ';'), p.key...), '=')
		dst = strconv.AppendInt(dst, p.value, 10)
	}
	return dst
}

func javaBucket(key string) int {
	var h uint32
	for _, unit := range utf16.Encode([]rune(key)) {
		h = 31*h + uint32(unit)
	}
	return int((h ^ h>>16) & 15)
}
