package zkproto

import "strconv"

// OpCode is the type of a request, as in ZooDefs.OpCode.
type OpCode int32

// The operations of ZooKeeper 3.9.5.
const (
	OpNotification         OpCode = 0 // server to client only
	OpCreate               OpCode = 1
	OpDelete               OpCode = 2
	OpExists               OpCode = 3
	OpGetData              OpCode = 4
	OpSetData              OpCode = 5
	OpGetACL               OpCode = 6
	OpSetACL               OpCode = 7
	OpGetChildren          OpCode = 8
	OpSync                 OpCode = 9
	OpPing                 OpCode = 11
	OpGetChildren2         OpCode = 12
	OpCheck                OpCode = 13 // inside multi only
	OpMulti                OpCode = 14
	OpCreate2              OpCode = 15
	OpReconfig             OpCode = 16
	OpCheckWatches         OpCode = 17
	OpRemoveWatches        OpCode = 18
	OpCreateContainer      OpCode = 19
	OpDeleteContainer      OpCode = 20 // the server's own container clean-up
	OpCreateTTL            OpCode = 21
	OpMultiRead            OpCode = 22
	OpAuth                 OpCode = 100
	OpSetWatches           OpCode = 101
	OpSASL                 OpCode = 102
	OpGetEphemerals        OpCode = 103
	OpGetAllChildrenNumber OpCode = 104
	OpSetWatches2          OpCode = 105
	OpAddWatch             OpCode = 106
	OpWhoAmI               OpCode = 107
	OpCreateSession        OpCode = -10 // never sent by clients
	OpCloseSession         OpCode = -11
	OpError                OpCode = -1 // in multi: an error result, or the end of the list
)

var opNames = map[OpCode]string{
	OpNotification: "notification", OpCreate: "create", OpDelete: "delete", OpExists: "exists", OpGetData: "getData",
	OpSetData: "setData", OpGetACL: "getACL", OpSetACL: "setACL", OpGetChildren: "getChildren", OpSync: "sync",
	OpPing: "ping", OpGetChildren2: "getChildren2", OpCheck: "check", OpMulti: "multi", OpCreate2: "create2",
	OpReconfig: "reconfig", OpCheckWatches: "checkWatches", OpRemoveWatches: "removeWatches",
	OpCreateContainer: "createContainer", OpDeleteContainer: "deleteContainer", OpCreateTTL: "createTTL",
	OpMultiRead: "multiRead", OpAuth: "auth", OpSetWatches: "setWatches", OpSASL: "sasl",
	OpGetEphemerals: "getEphemerals", OpGetAllChildrenNumber: "getAllChildrenNumber", OpSetWatches2: "setWatches2",
	OpAddWatch: "addWatch", OpWhoAmI: "whoAmI", OpCreateSession: "createSession", OpCloseSession: "closeSession",
	OpError: "error",
}

// String is the operation's name as ZooKeeper's documentation spells it.
func (o OpCode) String() string {
	if s, ok := opNames[o]; ok {
		return s
	}
	return "op " + strconv.Itoa(int(o))
}

// Known reports whether ZooKeeper 3.9.5 has an operation of this number,
// whether or not a client may send it.
func (o OpCode) Known() bool {
	_, ok := opNames[o]
	return ok
}

// Special xids (ClientCnxn). Replies to auth and setWatches echo whatever xid
// the request carried: go-zookeeper sends ordinary ones. A ping is always
// answered with XidPing.
const (
	XidNotification int32 = -1
	XidPing         int32 = -2
	XidAuth         int32 = -4
	XidSetWatches   int32 = -8
)

// EventType is what happened to a watched node (Watcher.Event.EventType).
type EventType int32

// The events a server sends.
const (
	EventNone            EventType = -1 // connection state only; never sent
	EventCreated         EventType = 1
	EventDeleted         EventType = 2
	EventDataChanged     EventType = 3
	EventChildrenChanged EventType = 4
)

// String is the name Java clients print.
func (e EventType) String() string {
	switch e {
	case EventNone:
		return "None"
	case EventCreated:
		return "NodeCreated"
	case EventDeleted:
		return "NodeDeleted"
	case EventDataChanged:
		return "NodeDataChanged"
	case EventChildrenChanged:
		return "NodeChildrenChanged"
	}
	return "event " + strconv.Itoa(int(e))
}

// State is the connection state in a notification. On the wire it is always
// StateSyncConnected.
type State int32

// StateSyncConnected is the only state a server sends.
const StateSyncConnected State = 3

// CreateFlags chooses the kind of node to create (CreateMode).
type CreateFlags int32

// The flags of ZooKeeper 3.9.5; all others are answered with BadArguments.
const (
	FlagPersistent           CreateFlags = 0
	FlagEphemeral            CreateFlags = 1
	FlagPersistentSequential CreateFlags = 2
	FlagEphemeralSequential  CreateFlags = 3
	FlagContainer            CreateFlags = 4
	FlagTTL                  CreateFlags = 5
	FlagTTLSequential        CreateFlags = 6
)

// Valid reports whether f is one of the seven flags.
func (f CreateFlags) Valid() bool { return f >= FlagPersistent && f <= FlagTTLSequential }

// Ephemeral reports whether the node ends with its session.
func (f CreateFlags) Ephemeral() bool { return f == FlagEphemeral || f == FlagEphemeralSequential }

// Sequential reports whether the parent's counter is appended to the name.
func (f CreateFlags) Sequential() bool {
	return f == FlagPersistentSequential || f == FlagEphemeralSequential || f == FlagTTLSequential
}

// Container reports whether the node is removed once its children are gone.
func (f CreateFlags) Container() bool { return f == FlagContainer }

// TTL reports whether the node is removed after a time without change.
func (f CreateFlags) TTL() bool { return f == FlagTTL || f == FlagTTLSequential }

// WatcherType names the watches that checkWatches and removeWatches mean
// (Watcher.WatcherType).
type WatcherType int32

// The watcher types of ZooKeeper 3.9; 3.8 knows the first three.
const (
	WatcherChildren            WatcherType = 1
	WatcherData                WatcherType = 2
	WatcherAny                 WatcherType = 3
	WatcherPersistent          WatcherType = 4
	WatcherPersistentRecursive WatcherType = 5
)

// Valid reports whether t is one of the five types; others are answered with
// MarshallingError.
func (t WatcherType) Valid() bool { return t >= WatcherChildren && t <= WatcherPersistentRecursive }

// AddWatchMode is the kind of watch that addWatch sets (AddWatchMode).
type AddWatchMode int32

// The two modes of addWatch.
const (
	WatchPersistent          AddWatchMode = 0
	WatchPersistentRecursive AddWatchMode = 1
)

// Valid reports whether m is one of the two modes; others are answered with
// MarshallingError.
func (m AddWatchMode) Valid() bool { return m == WatchPersistent || m == WatchPersistentRecursive }
