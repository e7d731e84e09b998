package zkproto

import "strconv"

// Code is the outcome of an operation as it stands in a reply header. The
// numbers are those of KeeperException.Code. A Code other than OK is an error;
// never return OK as an error value.
type Code int32

// The codes of ZooKeeper 3.9.5. Those marked "never sent" exist in clients only.
const (
	OK                           Code = 0
	SystemError                  Code = -1 // never sent
	RuntimeInconsistency         Code = -2 // in a failed multi: operations behind the one that failed
	DataInconsistency            Code = -3 // never sent
	ConnectionLoss               Code = -4 // never sent
	MarshallingError             Code = -5 // the body cannot be decoded
	Unimplemented                Code = -6
	OperationTimeout             Code = -7 // ZooKeeper never sends it; the bridge does while its disk takes nothing
	BadArguments                 Code = -8
	UnknownSession               Code = -12
	NewConfigNoQuorum            Code = -13
	ReconfigInProgress           Code = -14
	APIError                     Code = -100
	NoNode                       Code = -101
	NoAuth                       Code = -102
	BadVersion                   Code = -103
	NoChildrenForEphemerals      Code = -108
	NodeExists                   Code = -110
	NotEmpty                     Code = -111
	SessionExpired               Code = -112
	InvalidCallback              Code = -113 // never sent
	InvalidACL                   Code = -114
	AuthFailed                   Code = -115
	SessionMoved                 Code = -118
	NotReadOnly                  Code = -119
	EphemeralOnLocalSession      Code = -120
	NoWatcher                    Code = -121
	RequestTimeout               Code = -122 // never sent
	ReconfigDisabled             Code = -123
	SessionClosedRequireSASLAuth Code = -124
	QuotaExceeded                Code = -125
	ThrottledOp                  Code = -127
)

// Error says in words what the code means.
func (c Code) Error() string {
	switch c {
	case OK:
		return "ok"
	case SystemError:
		return "system error"
	case RuntimeInconsistency:
		return "runtime inconsistency"
	case DataInconsistency:
		return "data inconsistency"
	case ConnectionLoss:
		return "connection loss"
	case MarshallingError:
		return "marshalling error"
	case Unimplemented:
		return "unimplemented"
	case OperationTimeout:
		return "operation timeout"
	case BadArguments:
		return "bad arguments"
	case UnknownSession:
		return "unknown session"
	case NewConfigNoQuorum:
		return "no quorum of the new config is connected"
	case ReconfigInProgress:
		return "reconfig in progress"
	case APIError:
		return "api error"
	case NoNode:
		return "no node"
	case NoAuth:
		return "not authorized"
	case BadVersion:
		return "bad version"
	case NoChildrenForEphemerals:
		return "ephemerals cannot have children"
	case NodeExists:
		return "node exists"
	case NotEmpty:
		return "directory not empty"
	case SessionExpired:
		return "session expired"
	case InvalidCallback:
		return "invalid callback"
	case InvalidACL:
		return "invalid acl"
	case AuthFailed:
		return "authentication failed"
	case SessionMoved:
		return "session moved"
	case NotReadOnly:
		return "not a read-only call"
	case EphemeralOnLocalSession:
		return "ephemeral on local session"
	case NoWatcher:
		return "no such watcher"
	case RequestTimeout:
		return "request timeout"
	case ReconfigDisabled:
		return "reconfig disabled"
	case SessionClosedRequireSASLAuth:
		return "sasl authentication required"
	case QuotaExceeded:
		return "quota exceeded"
	case ThrottledOp:
		return "operation throttled"
	}
	return "code " + strconv.Itoa(int(c))
}
