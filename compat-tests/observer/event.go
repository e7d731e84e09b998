package observer

import (
	"encoding/json"
	"io"
	"time"
)

// Side is where a list is shown.
type Side string

const (
	// ZooKeeperSide is the children of a provider directory.
	ZooKeeperSide Side = "zookeeper"
	// RegistrySide is the instances of a service in the registry.
	RegistrySide Side = "registry"
)

// Kind says what an event is.
type Kind string

const (
	// List is a whole list of a service, as a side showed it. Asked is when it was
	// asked for, At when it came; a pushed list has Asked equal to At.
	List Kind = "list"
	// Blind says that the observer cannot see a side from now on, until its next
	// list.
	Blind Kind = "blind"
	// Appeared and Vanished are single changes of a directory, each with the zxid
	// of the transaction that made it. They miss nothing, lists may.
	Appeared Kind = "appeared"
	Vanished Kind = "vanished"

	// Created: a client was told that its node was created. Asked is when it asked.
	Created Kind = "created"
	// Deleted: a client was told that a node is deleted.
	Deleted Kind = "deleted"
	// SessionOpened: a client was given a session (with its Timeout) or has resumed
	// it.
	SessionOpened Kind = "session opened"
	// SessionHeard: a client's session has sent something.
	SessionHeard Kind = "session heard"
	// SessionClosed: a client has closed its session.
	SessionClosed Kind = "session closed"
	// SessionExpired: a client was told that its session is over.
	SessionExpired Kind = "session expired"

	// ProcessEnded: the test has ended the provider's process, in whatever way.
	ProcessEnded Kind = "process ended"
	// ServerDown and ServerUp: the test has taken the server away and brought it
	// back. Nothing is judged from the one until Timeout after the other.
	ServerDown Kind = "server down"
	ServerUp   Kind = "server up"
	// RegistryDown and RegistryUp are the same for the registry: nothing of its
	// side is judged from the one until Timeout after the other.
	RegistryDown Kind = "registry down"
	RegistryUp   Kind = "registry up"
	// Stalled: the observer was not given a processor for Timeout, until At. Neither
	// were the servers, then.
	Stalled Kind = "stalled"
	// NativeUp: an instance was registered at the registry itself, or renewed, for
	// Timeout. NativeDown: it was deregistered.
	NativeUp   Kind = "native up"
	NativeDown Kind = "native down"
)

// Event is one line of a history.
type Event struct {
	At      time.Time     `json:"at"`
	Asked   time.Time     `json:"asked,omitzero"`
	Kind    Kind          `json:"kind"`
	Side    Side          `json:"side,omitempty"`
	Service string        `json:"service,omitempty"` // interface:version:group
	Items   []Item        `json:"items,omitempty"`
	Address string        `json:"address,omitempty"` // host:port of a provider
	Name    string        `json:"name,omitempty"`    // of its znode, byte for byte
	Session int64         `json:"session,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
	Zxid    int64         `json:"zxid,omitempty"`
}

// Item is one provider in a list.
type Item struct {
	Address  string `json:"address"`
	Protocol string `json:"protocol,omitempty"`
	Name     string `json:"name,omitempty"`   // of its znode; in a registry list empty
	Native   bool   `json:"native,omitempty"` // registered at the registry by itself
}

// Recorder takes events. It may be called from several goroutines.
type Recorder interface {
	Record(e Event)
}

// Read reads a history, one JSON object a line.
func Read(r io.Reader) ([]Event, error) {
	var events []Event
	for d := json.NewDecoder(r); ; {
		var e Event
		if err := d.Decode(&e); err == io.EOF {
			return events, nil
		} else if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
}
