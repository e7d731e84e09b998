package registryclient

import "errors"

// Kind says what can be done about a failed registry call.
type Kind uint8

const (
	NotFound    Kind = iota + 1 // what was named does not exist there
	Unavailable                 // no answer, or "not now": try again later
	Denied                      // the registry does not let us; the configuration must change
	Invalid                     // this call can never succeed as it is: a name, a limit, another's owner
	Stale                       // a newer generation or incarnation has been accepted
)

// String gives the kind as a word.
func (k Kind) String() string {
	switch k {
	case NotFound:
		return "not found"
	case Unavailable:
		return "unavailable"
	case Denied:
		return "denied"
	case Invalid:
		return "invalid"
	case Stale:
		return "stale"
	}
	return "unknown kind"
}

// One error for each Kind, for errors.Is: an *Error matches the one of its kind.
var (
	ErrNotFound    = errors.New("not found")
	ErrUnavailable = errors.New("registry unavailable")
	ErrDenied      = errors.New("denied by the registry")
	ErrInvalid     = errors.New("refused by the registry as invalid")
	ErrStale       = errors.New("a newer generation was published already")
)

// Error is a failed registry call. Every error of a backend is one, or is the
// error of an ended context.
type Error struct {
	Op      string // "publish", "subscribe", "names", "own services", "renew"
	Service Service
	Kind    Kind
	Err     error // what happened, and what to do about it; may be nil
}

// Error gives "op service: kind: cause".
func (e *Error) Error() string {
	s := e.Op
	if e.Service != (Service{}) {
		s += " " + e.Service.String()
	}
	s += ": " + e.Kind.String()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches the sentinel of the error's kind.
func (e *Error) Is(target error) bool {
	switch e.Kind {
	case NotFound:
		return target == ErrNotFound
	case Unavailable:
		return target == ErrUnavailable
	case Denied:
		return target == ErrDenied
	case Invalid:
		return target == ErrInvalid
	case Stale:
		return target == ErrStale
	}
	return false
}

// Retryable tells whether the same call may succeed later without anybody
// changing anything.
func (e *Error) Retryable() bool { return e.Kind == Unavailable }

// Retryable tells whether err is an *Error for which the same call may succeed later.
func Retryable(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Retryable()
}
