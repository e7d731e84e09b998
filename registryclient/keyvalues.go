package registryclient

import "context"

// KeyValues is a store of small documents beside the services. A backend that
// has one implements it on its Client; others do not.
//
// Every document has a revision, which says what its content is: a change of
// content changes it, and it may be the same again when the content is.
type KeyValues interface {
	// Document gives what is stored under k, or an error of kind NotFound. It
	// may be as old as Capabilities.Staleness says, but not older than what this
	// client has stored itself.
	Document(ctx context.Context, k Key) (Document, error)

	// PutDocument stores data under k if its revision is expect, and gives the new
	// document. NoRevision as expect means that there must not be one. Otherwise
	// the error is of kind Stale and nothing has changed. Of several that
	// expect the same revision at the same time, of different processes too,
	// one succeeds. After an error of kind Unavailable the outcome is not known.
	PutDocument(ctx context.Context, k Key, data []byte, expect string) (Document, error)

	// DeleteDocument removes what is under k if its revision is expect, else the error
	// is of kind Stale, or NotFound if there is nothing.
	DeleteDocument(ctx context.Context, k Key, expect string) error

	// WatchDocument calls fn with the document under k until ctx ends, under the
	// obligations of Subscribe. A document that does not exist has the revision
	// NoRevision. A document that was equal before may be repeated.
	WatchDocument(ctx context.Context, k Key, fn func(Document)) error

	// Documents lists the keys of a group that have a document, in the order of
	// Key.Compare.
	Documents(ctx context.Context, namespace, group string) ([]Key, error)
}

// NoRevision is the revision of a document that does not exist.
const NoRevision = ""

// Document is what is stored under a key.
type Document struct {
	Key
	Revision string // NoRevision: there is none
	Data     []byte // receivers do not change it
}
