package server

import (
	"fmt"
	"strings"
	"time"
)

// cons has one line for each connection, and an empty one at the end.
func (s *Server) cons(own *conn) string {
	var b strings.Builder
	for _, r := range s.Connections() {
		r.line(&b, own, false)
	}
	b.WriteByte('\n')
	return b.String()
}

// line is the connection in cons, or briefly in stat
// (ServerCnxn.dumpConnectionInfo). own is the connection that asks: nothing more
// is read from it.
func (r *ConnectionReport) line(b *strings.Builder, own *conn, brief bool) {
	interest := 1
	if r.conn == own {
		interest = 0
	}
	fmt.Fprintf(b, " /%s[%x](queued=0,recved=%d,sent=%d", r.Address, interest, r.Received, r.Sent)
	if !brief && r.Session != 0 {
		fmt.Fprintf(b, ",sid=0x%x,lop=%s,est=%d,to=%d", uint64(r.Session), r.Operation, r.Established.UnixMilli(), r.Timeout.Milliseconds())
		if r.Xid >= 0 {
			fmt.Fprintf(b, ",lcxid=0x%x", r.Xid)
		}
		fmt.Fprintf(b, ",lzxid=0x%x,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d", uint64(r.Zxid), r.conn.srv.Monotonic(r.LastResponse),
			r.Last.Milliseconds(), r.Min.Milliseconds(), r.Average.Milliseconds(), r.Max.Milliseconds())
	}
	b.WriteString(")\n")
}

// Monotonic is t on the clock of lresp and of the keys of the AdminServer's dump:
// milliseconds since the server was made; 0 for no time at all.
func (s *Server) Monotonic(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Sub(s.started).Milliseconds()
}
