package server

import (
	"sync"
	"time"

	"zkbridge/zkproto"
)

// record is what ZooKeeper's cons tells of a connection (ServerCnxn). Its reader
// brings it up to date once for all requests that came together, so that it costs
// a request nothing.
type record struct {
	opened time.Time // set at construction: when the socket was accepted

	mu       sync.Mutex
	op       string // of the last request, as cons names it; "": none since the last reset
	xid      int32  // of the last request with an ordinary one; -1: none
	zxid     int64  // of the last reply; -1: none
	at       time.Time
	times    times
	received int64 // packets up to the last reset
	sent     int64
}

// times are the times of the sampled requests.
type times struct {
	last, min, max, sum time.Duration
	count               int64
}

func (t *times) average() time.Duration {
	if t.count == 0 {
		return 0
	}
	return t.sum / time.Duration(t.count)
}

// begin sets what a connection starts with.
func (r *record) begin() { r.xid, r.zxid = -1, -1 }

// answered notes the last request of several.
func (r *record) answered(op string, xid int32, zxid int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.op, r.zxid, r.at = op, zxid, time.Now()
	if xid >= 0 {
		r.xid = xid
	}
}

// took notes the time of a sampled request.
func (r *record) took(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &r.times
	if t.count == 0 || d < t.min {
		t.min = d
	}
	t.last, t.max = d, max(t.max, d)
	t.sum += d
	t.count++
}

// reset starts anew, as crst does.
func (r *record) reset(received, sent int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.op, r.xid, r.zxid, r.at, r.times = "", -1, -1, time.Time{}, times{}
	r.received, r.sent = received, sent
}

// operationNames are what cons calls operations (FinalRequestProcessor). Those
// that are missing leave no trace there.
var operationNames = map[zkproto.OpCode]string{
	zkproto.OpPing:                 "PING",
	zkproto.OpCreate:               "CREA",
	zkproto.OpCreate2:              "CREA",
	zkproto.OpCreateContainer:      "CREA",
	zkproto.OpCreateTTL:            "CREA",
	zkproto.OpDelete:               "DELE",
	zkproto.OpDeleteContainer:      "DELE",
	zkproto.OpExists:               "EXIS",
	zkproto.OpGetData:              "GETD",
	zkproto.OpSetData:              "SETD",
	zkproto.OpGetACL:               "GETA",
	zkproto.OpSetACL:               "SETA",
	zkproto.OpGetChildren:          "GETC",
	zkproto.OpGetChildren2:         "GETC",
	zkproto.OpGetAllChildrenNumber: "GETACN",
	zkproto.OpSync:                 "SYNC",
	zkproto.OpMulti:                "MULT",
	zkproto.OpMultiRead:            "MLTR",
	zkproto.OpReconfig:             "RECO",
	zkproto.OpCloseSession:         "CLOS",
	zkproto.OpSetWatches:           "SETW",
	zkproto.OpSetWatches2:          "STW2",
	zkproto.OpAddWatch:             "ADDW",
	zkproto.OpCheckWatches:         "CHKW",
	zkproto.OpRemoveWatches:        "REMW",
	zkproto.OpWhoAmI:               "HOMI",
	zkproto.OpGetEphemerals:        "GETE",
}

// ConnectionReport is what ZooKeeper tells of one connection.
type ConnectionReport struct {
	Address  string // "ip:port" of the client
	Secure   bool   // it came through TLS
	Waiting  bool   // its next request is waited for
	Received int64  // packets, since the last ResetConnections
	Sent     int64

	Session      int64 // 0: none yet, and nothing below means anything
	Operation    string
	Established  time.Time // of the connection
	Timeout      time.Duration
	Xid          int32 // of the last request with an ordinary one; -1: none
	Zxid         int64 // of the last reply; -1: none
	LastResponse time.Time
	Last         time.Duration // how long requests took, of a sample
	Min          time.Duration
	Average      time.Duration
	Max          time.Duration

	conn *conn
}

// Connections reports the open connections, by address.
func (s *Server) Connections() []ConnectionReport {
	conns := s.connections()
	list := make([]ConnectionReport, len(conns))
	for i, c := range conns {
		list[i] = c.report()
	}
	return list
}

func (c *conn) report() ConnectionReport {
	r := ConnectionReport{Address: c.String(), Waiting: true, Secure: c.secure(), Received: c.received.Load(), Sent: c.out.sentPackets(), conn: c}
	d := &c.record
	d.mu.Lock()
	defer d.mu.Unlock()
	r.Received -= d.received
	r.Sent -= d.sent
	if s := c.carried.Load(); s != nil {
		r.Session, r.Timeout = s.ID(), s.Timeout()
	}
	r.Operation, r.Established, r.Xid, r.Zxid, r.LastResponse = d.op, d.opened, d.xid, d.zxid, d.at
	if r.Operation == "" {
		r.Operation = "NA"
	}
	r.Last, r.Min, r.Average, r.Max = d.times.last, d.times.min, d.times.average(), d.times.max
	return r
}

// ResetConnections begins the counting of each connection anew (crst).
func (s *Server) ResetConnections() {
	for _, c := range s.connections() {
		c.record.reset(c.received.Load(), c.out.sentPackets())
	}
}
