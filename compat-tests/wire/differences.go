package wire

import (
	"fmt"
	"strings"
)

// Difference is a place where the bridge is meant to answer otherwise than a
// real server. Real and Ours are whole lines of a transcript.
type Difference struct {
	Script string
	Title  string // the heading in differences.md that explains it
	Real   string // found in the real server's transcript exactly once, or the difference is out of date
	Ours   string
}

// Expected is the transcript that the bridge must give where a real server
// gives real.
func Expected(script string, real Transcript) (Transcript, error) {
	text := "\n" + string(real)
	for _, d := range Differences() {
		if d.Script != script {
			continue
		}
		old := "\n" + strings.Trim(d.Real, "\n") + "\n"
		if got := strings.Count(text, old); got != 1 {
			return "", fmt.Errorf("difference %q of %s is out of date: its lines are found %d times, want once", d.Title, script, got)
		}
		text = strings.Replace(text, old, "\n"+strings.Trim(d.Ours, "\n")+"\n", 1)
	}
	return Transcript(text[1:]), nil
}

const (
	titleAhead   = "Clients from the future"
	titleLarge   = "setWatches above the frame limit"
	titleClean   = "deleteContainer"
	titleSession = "createSession"
	titleMany    = "The end of a session with more than 256 ephemeral nodes"
	titleRestart = "After a restart"
	titleOrphan  = "A provider whose old session has no connection"
)

// Untold are the headings in differences.md that no script shows, and why: what
// stops a real server cannot be played against one.
func Untold() map[string]string {
	return map[string]string{
		"createTTL, quotas and multiRead that ZooKeeper stops of": "they stop the control",
		"Quotas after a restart":                                  "ZooKeeper's stats depend on when it took its last snapshot",
		"Containers in directories of services":                   "the control has none",
		"TTL nodes when extended types are switched off":          "needs another setting after a restart",
		"ACLs in a root with `acl: ignore`":                       "the control has no such setting",
		titleOrphan:                                               "whether the control has seen yet that a connection was cut is left to chance; internal/bridge tests it",
		"After a restart of the machine":                          "the control cannot tell it from another one",
		"While the disk takes no data":                            "it ends the control",
		"Changes sent behind a setACL, or behind a container that is said to be ephemeral": "what the control answers depends on how fast it is",
	}
}

// Differences are the explained differences, script by script.
func Differences() []Difference {
	return []Difference{
		{Script: "session-zxid-ahead", Title: titleAhead, Real: `
> connect timeout=30000 session=session of A passwd=its own readOnly=false
< closed
== C
> connect timeout=30000 session=an unknown session passwd=wrong readOnly=false
< closed
== D
> connect timeout=30000 session=0 passwd=none readOnly=false
< closed
`, Ours: `
> connect timeout=30000 session=session of A passwd=its own readOnly=false
< connected 37 bytes version=0 timeout=30000 session=session of A passwd=16 bytes readOnly=false
== C
> connect timeout=30000 session=an unknown session passwd=wrong readOnly=false
< connected 37 bytes version=0 timeout=0 session=0 passwd=16 bytes, all zero readOnly=false
< closed
== D
> connect timeout=30000 session=0 passwd=none readOnly=false
< connected 37 bytes version=0 timeout=30000 session=session of D passwd=16 bytes readOnly=false
`},
		{Script: "session-zxid-ahead-watches", Title: titleAhead, Real: `
> connect timeout=30000 session=session of A passwd=its own readOnly=false
< closed
> -8 setWatches data=["/wire/n"] exist=[] child=["/wire"]
`, Ours: `
> connect timeout=30000 session=session of A passwd=its own readOnly=false
< connected 37 bytes version=0 timeout=30000 session=session of A passwd=16 bytes readOnly=false
> -8 setWatches data=["/wire/n"] exist=[] child=["/wire"]
! NodeDataChanged "/wire/n" zxid=-1
! NodeChildrenChanged "/wire" zxid=-1
< -8 setWatches zxid=+3 ok
`},
		{Script: "field-14-one-frame", Title: titleLarge, Real: `
> -8 setWatches data=[] exist=32000 paths from "/wire/` + longName(0) + `" child=[]
< closed
== B
> connect timeout=30000 session=0 passwd=none readOnly=false
< connected 37 bytes version=0 timeout=30000 session=session of B passwd=16 bytes readOnly=false
> 1 create "/wire" data="x" flags=0
< 1 create zxid=+3 ok "/wire"
`, Ours: `
> -8 setWatches data=[] exist=32000 paths from "/wire/` + longName(0) + `" child=[]
< -8 setWatches zxid=+3 ok
! NodeCreated "/wire/` + longName(31999) + `" zxid=+4
== B
> connect timeout=30000 session=0 passwd=none readOnly=false
< connected 37 bytes version=0 timeout=30000 session=session of B passwd=16 bytes readOnly=false
> 1 create "/wire" data="x" flags=0
< 1 create zxid=+3 ok "/wire"
> 2 create "/wire/` + longName(31999) + `" data="x" flags=0
< 2 create zxid=+4 ok "/wire/` + longName(31999) + `"
`},
		{Script: "delete-container-operation", Title: titleClean, Real: `
< 2 deleteContainer zxid=+3 ok
> 3 exists "/wire"
< 3 exists zxid=+3 -101 (no node)
`, Ours: `
< 2 deleteContainer zxid=+2 -6 (unimplemented)
> 3 exists "/wire"
< 3 exists zxid=+2 ok {c=+2 m=+2 p=+2 times=now,now v=0 cv=0 av=0 owner=0 len=1 children=0}
`},
		{Script: "create-session-operation", Title: titleSession, Real: `
< 1 createSession zxid=+2 -5 (marshalling error)
< still open
`, Ours: `
< 1 createSession zxid=-1 -6 (unimplemented)
< closed
`},
		{Script: "many-ephemerals-end", Title: titleMany, Real: `
600 NodeDeleted with 1 zxids, 1 NodeChildrenChanged
`, Ours: `
600 NodeDeleted with 3 zxids, 1 NodeChildrenChanged
`},
		{Script: "restart-sessions", Title: titleRestart, Real: `
< 1 getChildren zxid=+5 ok ["a" "b"]
`, Ours: `
< 1 getChildren zxid=later ok ["a" "b"]
`},
		{Script: "restart-watches", Title: titleRestart, Real: `
> -8 setWatches data=["/wire/n"] exist=["/wire/no"] child=["/wire"]
< -8 setWatches zxid=later ok
`, Ours: `
> -8 setWatches data=["/wire/n"] exist=["/wire/no"] child=["/wire"]
! NodeDataChanged "/wire/n" zxid=-1
! NodeChildrenChanged "/wire" zxid=-1
< -8 setWatches zxid=later ok
`},
	}
}
