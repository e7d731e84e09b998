package embedded

import (
	"errors"
	"fmt"
	"net/http"

	rc "zkbridge/registryclient"
)

// Problem is the body of every error answer of the HTTP API, and the cause
// inside the errors of this package.
type Problem struct {
	Code    string `json:"code"`    // one of the codes below, stable
	Message string `json:"message"` // what is wrong
	Remedy  string `json:"remedy"`  // what to do about it
}

// Error gives the message and the remedy in one line.
func (p *Problem) Error() string {
	if p.Remedy == "" {
		return p.Message
	}
	return p.Message + "; " + p.Remedy
}

// The codes of Problem.
const (
	codeInvalid      = "invalid"
	codeLimit        = "limit_exceeded"
	codeTooLarge     = "too_large"
	codeNotFound     = "not_found"
	codeNoRoute      = "no_route"
	codeMethod       = "method_not_allowed"
	codeUnauthorized = "unauthorized"
	codeStale        = "stale"
	codeUnavailable  = "unavailable"
	codeInternal     = "internal"
)

// classes maps every code to its kind and its HTTP status.
var classes = map[string]struct {
	kind   rc.Kind
	status int
}{
	codeInvalid:      {rc.Invalid, http.StatusBadRequest},
	codeLimit:        {rc.Invalid, http.StatusUnprocessableEntity},
	codeTooLarge:     {rc.Invalid, http.StatusRequestEntityTooLarge},
	codeNotFound:     {rc.NotFound, http.StatusNotFound},
	codeNoRoute:      {rc.Invalid, http.StatusNotFound},
	codeMethod:       {rc.Invalid, http.StatusMethodNotAllowed},
	codeUnauthorized: {rc.Denied, http.StatusUnauthorized},
	codeStale:        {rc.Stale, http.StatusConflict},
	codeUnavailable:  {rc.Unavailable, http.StatusServiceUnavailable},
	codeInternal:     {rc.Unavailable, http.StatusInternalServerError},
}

func problem(code, remedy, format string, args ...any) *Problem {
	return &Problem{Code: code, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// failed wraps a problem as the error of a registry call.
func failed(op string, s rc.Service, p *Problem) error {
	return &rc.Error{Op: op, Service: s, Kind: classes[p.Code].kind, Err: p}
}

// problemOf finds the problem inside err, or makes one of it.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	return problem(codeInternal, "look into the log of the registry", "%v", err)
}
