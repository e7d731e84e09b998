package histories

// Avoidance is a documented difference and why no history meets it.
type Avoidance struct {
	Title string // the heading in compat-tests/wire/differences.md
	How   string
}

// Avoided are the differences of differences.md, all of them.
func Avoided() []Avoidance {
	return []Avoidance{
		{"Clients from the future", "a client tells the last zxid that it has seen"},
		{"setWatches above the frame limit", "no frame is that long"},
		{"deleteContainer", "not sent"},
		{"createSession", "not sent"},
		{"createTTL, quotas and multiRead that ZooKeeper stops of", "flags and TTL fit each other, no quota is made, no reply is that long"},
		{"Quotas after a restart", "nothing restarts"},
		{"Containers in directories of services", "made outside of them"},
		{"TTL nodes when extended types are switched off", "nothing restarts"},
		{"ACLs in a root with `acl: ignore`", "no root is set so"},
		{"The end of a session with more than 256 ephemeral nodes", "no session has that many"},
		{"After a restart", "nothing restarts"},
		{"After a restart of the machine", "nothing restarts"},
		{"While the disk takes no data", "it has room"},
		{"A provider whose old session has no connection", "no node is a provider's"},
		{"Changes sent behind a setACL, or behind a container that is said to be ephemeral", "not sent at once, see Request.alone and Request.writes"},
	}
}
