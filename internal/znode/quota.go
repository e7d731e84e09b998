package znode

import (
	"strings"

	"zkbridge/zkproto"
)

// Quotas are nodes (Quotas): zookeeper_limits below /zookeeper/quota/<path> is
// what clients allow <path>, zookeeper_stats beside it is what there is. Its data
// are rewritten here in place, with every change below <path>, without a new
// version and without an event, as in ZooKeeper (DataTree.updateQuotaStat). Of
// several quotas only the deepest counts.
const (
	quotaDir  = "/zookeeper/quota"
	limitsEnd = "/zookeeper_limits"
	statsEnd  = "/zookeeper_stats"
)

// quota is one that has limits.
type quota struct {
	path    string // what is counted: this node and all below it
	stats   string // path of the stats
	limits  *node
	armed   int64  // zxid of the transaction that made the limits
	changed int64  // zxid of the transaction that changed the stats last
	before  []byte // stats before it
}

// quotaNode says what path is to a quota: the path that it is about, and whether
// it ends in end. A quota on the root is none: a real server stops of it.
func quotaNode(path, end string) (of string, ok bool) {
	of, ok = strings.CutSuffix(path[len(quotaDir):], end)
	return of, ok && of != ""
}

// arm is called for every node that appears below /zookeeper/quota, and disarm
// for every one that goes.
func (t *Tree) arm(n *node) {
	if of, ok := quotaNode(n.path, limitsEnd); ok {
		if t.quotas == nil {
			t.quotas = make(map[string]*quota)
		}
		t.quotas[of] = &quota{path: of, stats: quotaDir + of + statsEnd, limits: n, armed: t.zxid}
	}
}

func (t *Tree) disarm(n *node) {
	if of, ok := quotaNode(n.path, limitsEnd); ok {
		delete(t.quotas, of)
	}
}

// quotaOf is the deepest quota that path is under, other than those that the
// transaction except made. Nil: none.
func (t *Tree) quotaOf(path string, except int64) *quota {
	for path != "/" {
		if q := t.quotas[path]; q != nil && q.armed != except {
			return q
		}
		path = parentPath(path)
	}
	return nil
}

// usage counts the node at path and all below it, and their data.
func (t *Tree) usage(path string) (nodes, bytes int64) {
	n := t.nodes[path]
	if n == nil {
		return 0, 0
	}
	return n.usage()
}

func (n *node) usage() (nodes, bytes int64) {
	nodes, bytes = 1, int64(len(n.data))
	for _, c := range n.children() {
		more, size := c.usage()
		nodes, bytes = nodes+more, bytes+size
	}
	return nodes, bytes
}

// counted is the text of stats that are counted anew.
func (t *Tree) counted(path string) []byte {
	nodes, bytes := t.usage(path)
	return quotaText{count: nodes, bytes: bytes}.appendTo(nil)
}

// recount puts the stats of all quotas right, for the start: ephemerals have
// gone meanwhile.
func (t *Tree) recount() {
	for _, q := range t.quotas {
		if n := t.nodes[q.stats]; n != nil {
			data := t.counted(q.path)
			t.dataSize += int64(len(data) - len(n.data))
			n.data = data
		}
	}
}

// count adds to the stats of the quota that path is under. The change is in the
// tree already. Stats that cannot be read, of which a real server stops, are
// counted anew.
func (x *Tx) count(path string, nodes, bytes, gate int64) {
	t := x.tree
	if x.replay {
		return // see recount
	}
	q := t.quotaOf(path, 0)
	if q == nil {
		return
	}
	n := t.nodes[q.stats]
	if n == nil {
		return
	}
	x.save(n)
	if q.changed != x.zxid {
		q.changed, q.before = x.zxid, n.data
	}
	var data []byte
	if text, ok := readQuota(n.data); ok {
		text.count += nodes
		text.bytes += bytes
		data = text.appendTo(nil)
	} else {
		data = t.counted(q.path)
	}
	t.dataSize += int64(len(data) - len(n.data))
	n.data = data
	n.gate = max(n.gate, gate)
}

// within refuses what a quota does not allow: nodes and bytes more at path
// (ZooKeeperServer.checkQuota). The usage is that before the transaction. Only a
// hard limit refuses; whatever is exceeded is told. Errors: QuotaExceeded,
// MarshallingError (limits that cannot be read).
func (x *Tx) within(path string, nodes, bytes int64) error {
	t := x.tree
	if !t.enforce || x.origin.Kind != Operation {
		return nil
	}
	q := t.quotaOf(path, x.zxid)
	if q == nil {
		return nil
	}
	limits, ok := readQuota(q.limits.data)
	if !ok {
		return x.refuse(q.limits, zkproto.MarshallingError)
	}
	n := t.nodes[q.stats]
	if n == nil || n.czxid == x.zxid {
		return nil
	}
	used := n.data
	if q.changed == x.zxid {
		used = q.before
	}
	have, ok := readQuota(used)
	if !ok {
		have.count, have.bytes = t.usage(q.path)
	}
	for _, l := range []struct{ more, have, soft, hard int64 }{
		{nodes, have.count, limits.count, limits.hard("countHardLimit")},
		{bytes, have.bytes, limits.bytes, limits.hard("byteHardLimit")},
	} {
		limit := l.soft
		if l.hard > -1 {
			limit = l.hard
		}
		if l.more == 0 || limit <= -1 || l.have+l.more <= limit {
			continue
		}
		if t.over != nil {
			t.over(q.path, l.hard > -1)
		}
		if l.hard > -1 {
			return x.refuse(n, zkproto.QuotaExceeded)
		}
	}
	return nil
}
