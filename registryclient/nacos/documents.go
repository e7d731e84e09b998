package nacos

import (
	"context"
	"crypto/md5" //nolint:gosec // Nacos's revisions are MD5 sums; nothing is secured by them
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/internal/latest"
)

var _ rc.KeyValues = (*Client)(nil)

// documents is the part of a Client that keeps documents in Nacos's
// configuration service. It has a connection of its own, made when somebody
// needs it: a server refuses requests about configurations and services on one.
type documents struct {
	// set at construction
	c       *Client
	changed chan struct{} // holds one token: a watched document may have changed
	session *latest.Value[*session]

	// guarded by Client.mu
	watched map[configKey]*watched
	dirty   map[configKey]bool
}

// watched is a document that somebody watches.
type watched struct {
	key   rc.Key
	value *latest.Value[rc.Document]
	refs  int

	// owned by documents.run
	known  bool
	sum    string // of the content; "": there is no configuration
	exists bool   // and a document in it
}

// documentDelay is how long a server may show the content before a change: the time
// that it needs to bring it from its database to where it reads, and some more.
const documentDelay = 3 * time.Second

// relisten is the time after which a server is asked whether what is watched has
// changed although it has not said so.
const relisten = 30 * time.Second

// documentsLocked gives the documents, which are connected from the first call on.
func (c *Client) documentsLocked() *documents {
	if c.documents == nil {
		c.documents = &documents{
			c: c, changed: make(chan struct{}, 1), session: latest.New[*session](),
			watched: make(map[configKey]*watched), dirty: make(map[configKey]bool),
		}
		c.goLocked(c.documents.run)
	}
	return c.documents
}

// await gives the session of documents, when there is one.
func (c *Client) awaitDocuments(ctx context.Context) (*session, error) {
	c.mu.Lock()
	running := c.spawn != nil
	d := c.documentsLocked()
	c.mu.Unlock()
	if !running {
		return nil, errors.New("the client does not run")
	}
	limit := time.NewTimer(c.cfg.ConnectTimeout)
	defer limit.Stop()
	for {
		s, set, newer := d.session.Look()
		if set && s != nil && s.alive() {
			return s, nil
		}
		select {
		case <-newer:
		case <-limit.C:
			return nil, fmt.Errorf("no connection to Nacos's configuration service within %v", c.cfg.ConnectTimeout)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// run keeps the session until ctx ends.
func (d *documents) run(ctx context.Context) {
	c := d.c
	failures := 0
	for n := c.first; ctx.Err() == nil; n++ {
		s, err := c.connect(ctx, c.servers[n%len(c.servers)], moduleConfig, "", d.pushed)
		if err != nil {
			c.counters.connectFailures.Add(1)
			if failures++; failures >= len(c.servers) {
				pause(ctx, c.backoff(failures-len(c.servers)))
			}
			continue
		}
		c.counters.connects.Add(1)
		failures = 0
		d.serve(ctx, s)
		if !errors.Is(s.why(), errGone) {
			c.counters.losses.Add(1)
			pause(ctx, c.backoff(0))
		}
	}
}

func (d *documents) serve(ctx context.Context, s *session) {
	var checking sync.WaitGroup
	checking.Go(func() { s.check(ctx, d.c.cfg.HealthInterval, d.c.cfg.HealthTimeout) })
	defer checking.Wait()
	defer func() { s.close(errGone) }()
	d.session.Put(s)
	defer d.session.Put(nil)
	tick := time.NewTicker(relisten)
	defer tick.Stop()
	all := true
	for {
		again := d.look(ctx, s, all)
		all = false
		var retry <-chan time.Time
		if again {
			retry = time.After(time.Second)
		}
		select {
		case <-d.changed:
		case <-retry:
		case <-tick.C:
			all = true
		case <-s.reset:
			d.c.counters.resets.Add(1)
			s.fail(errors.New("the server has asked for a move"))
		case <-s.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// pushed takes a server's word that a configuration has changed.
func (d *documents) pushed(_ *session, kind string, m *push, _ []byte) {
	if kind == "ConfigChangeNotifyRequest" {
		d.c.mu.Lock()
		defer d.c.mu.Unlock()
		d.markLocked(configKey{tenantOf(m.Tenant), m.Group, m.DataID})
	}
}

func (d *documents) markLocked(k configKey) {
	if d.watched[k] == nil {
		return
	}
	d.dirty[k] = true
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// look reads what may have changed; all: asks the server what has. It tells
// whether something is to be tried again soon.
func (d *documents) look(ctx context.Context, s *session, all bool) (again bool) {
	c := d.c
	if all && !d.listen(ctx, s) {
		again = true
	}
	c.mu.Lock()
	dirty := d.dirty
	d.dirty = make(map[configKey]bool)
	c.mu.Unlock()
	for k := range dirty {
		if !d.read(ctx, s, k) {
			c.mu.Lock()
			d.dirty[k] = true
			c.mu.Unlock()
			again = true
		}
	}
	return again
}

// listen tells the server what we know, so that it says what differs now and later.
func (d *documents) listen(ctx context.Context, s *session) bool {
	c := d.c
	c.mu.Lock()
	req := configBatchListenRequest{Module: moduleConfig, Listen: true}
	for k, w := range d.watched {
		req.Contexts = append(req.Contexts, configListenContext{Group: k.group, DataID: k.dataID, Tenant: k.tenant, MD5: w.sum})
		if !w.known {
			d.dirty[k] = true
		}
	}
	c.mu.Unlock()
	if len(req.Contexts) == 0 {
		return true
	}
	a, err := s.call(ctx, "ConfigBatchListenRequest", req)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, changed := range a.ChangedConfigs {
		d.markLocked(configKey{tenantOf(changed.Tenant), changed.Group, changed.DataID})
	}
	return true
}

// read reads a watched document, tells its watchers, and makes the server say when it
// is not like that any more.
func (d *documents) read(ctx context.Context, s *session, k configKey) bool {
	c := d.c
	c.mu.Lock()
	w := d.watched[k]
	c.mu.Unlock()
	if w == nil {
		_, err := s.call(ctx, "ConfigBatchListenRequest", configBatchListenRequest{
			Module: moduleConfig, Contexts: []configListenContext{{Group: k.group, DataID: k.dataID, Tenant: k.tenant}},
		})
		return err == nil || !s.alive()
	}
	content, found, err := c.query(ctx, s, k)
	if err != nil {
		return false
	}
	if !found && w.exists {
		// Is it gone, or does the server only not know it yet?
		pause(ctx, time.Second)
		if content, found, err = c.query(ctx, s, k); err != nil {
			return false
		}
	}
	doc := document(w.key, content, found)
	// The server compares with what we say that we know.
	sum := ""
	if found {
		sum = md5Of(content)
	}
	a, err := s.call(ctx, "ConfigBatchListenRequest", configBatchListenRequest{
		Module: moduleConfig, Listen: true, Contexts: []configListenContext{{Group: k.group, DataID: k.dataID, Tenant: k.tenant, MD5: sum}},
	})
	if err != nil {
		return false
	}
	changed := !w.known || w.sum != sum
	w.known, w.sum, w.exists = true, sum, doc.Revision != rc.NoRevision
	if changed {
		w.value.Put(doc)
	}
	return len(a.ChangedConfigs) == 0
}

// document is what content says about k.
func document(k rc.Key, content string, found bool) rc.Document {
	d := rc.Document{Key: k}
	if found {
		if data, ok := dataOf(content); ok {
			d.Revision, d.Data = md5Of(content), data
		}
	}
	return d
}

func md5Of(content string) string {
	sum := md5.Sum([]byte(content)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// busyFor is how long a server may say that a configuration is being changed.
const busyFor = 5 * time.Second

// query reads a configuration. While the server is changing it, it does not say
// what it is (ConfigQueryResponse.CONFIG_QUERY_CONFLICT): it is asked again.
func (c *Client) query(ctx context.Context, s *session, k configKey) (content string, found bool, err error) {
	for until := time.Now().Add(busyFor); ; {
		a, err := s.call(ctx, "ConfigQueryRequest", k.fields())
		var no *refusal
		if !errors.As(err, &no) || no.in != "ConfigQueryResponse" {
			return a.Content, err == nil, err
		}
		switch {
		case no.is(codeNotFound):
			return "", false, nil
		case !no.is(codeConflict) || time.Now().After(until):
			return "", false, err
		}
		pause(ctx, 15*time.Millisecond)
		if ctx.Err() != nil {
			return "", false, ctx.Err()
		}
	}
}

// errCompare is answered when a configuration is not what it was expected to be.
var errCompare = errors.New("the document has another revision")

// change replaces a configuration whose content has the sum expect, or makes it if there
// is none. Its answer is not believed when it makes one.
func (c *Client) change(ctx context.Context, s *session, k configKey, content, expect string) error {
	_, err := s.call(ctx, "ConfigPublishRequest", configPublishRequest{configFields: k.fields(), Content: content, CasMD5: expect})
	var no *refusal
	if errors.As(err, &no) && no.in == "ConfigPublishResponse" && no.ErrorCode != codeForbidden {
		return errCompare
	}
	return err
}

// settle waits until the server shows what done wants to see, which it reads from
// where a change arrives late.
func (c *Client) seen(ctx context.Context, s *session, k configKey, done func(content string, found bool) bool) error {
	limit := time.Now().Add(documentDelay)
	for {
		content, found, err := c.query(ctx, s, k)
		if err != nil {
			return err
		}
		if done(content, found) {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("the server has answered that it was stored, and does not show it after %v", documentDelay)
		}
		pause(ctx, 15*time.Millisecond)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// documentError makes an error of the registry of what happened to k.
func documentError(op string, k rc.Key, err error) error {
	if errors.Is(err, errCompare) {
		return &rc.Error{Op: op, Service: rc.Service(k), Kind: rc.Stale, Err: err}
	}
	return failure(op, rc.Service(k), err)
}

// Document implements registryclient.KeyValues.
func (c *Client) Document(ctx context.Context, k rc.Key) (rc.Document, error) {
	const op = "read document"
	at, err := configKeyOf(k)
	if err != nil {
		return rc.Document{}, &rc.Error{Op: op, Service: rc.Service(k), Kind: rc.Invalid, Err: err}
	}
	s, err := c.awaitDocuments(ctx)
	if err != nil {
		return rc.Document{}, documentError(op, k, err)
	}
	content, found, err := c.query(ctx, s, at)
	if err != nil {
		return rc.Document{}, documentError(op, k, err)
	}
	d := document(k, content, found)
	if d.Revision == rc.NoRevision {
		return d, &rc.Error{Op: op, Service: rc.Service(k), Kind: rc.NotFound}
	}
	return d, nil
}

// PutDocument implements registryclient.KeyValues.
func (c *Client) PutDocument(ctx context.Context, k rc.Key, data []byte, expect string) (rc.Document, error) {
	const op = "write document"
	at, err := configKeyOf(k)
	if err != nil {
		return rc.Document{}, &rc.Error{Op: op, Service: rc.Service(k), Kind: rc.Invalid, Err: err}
	}
	content := contentOf(data)
	if err := c.replace(ctx, at, content, expect); err != nil {
		return rc.Document{}, documentError(op, k, err)
	}
	return document(k, content, true), nil
}

// DeleteDocument implements registryclient.KeyValues. A configuration stays that
// says that there is no document: were it removed, that could hit a newer one.
func (c *Client) DeleteDocument(ctx context.Context, k rc.Key, expect string) error {
	const op = "delete document"
	at, err := configKeyOf(k)
	if err != nil {
		return &rc.Error{Op: op, Service: rc.Service(k), Kind: rc.Invalid, Err: err}
	}
	if _, err := c.Document(ctx, k); err != nil {
		return err
	}
	if expect == rc.NoRevision {
		return documentError(op, k, errCompare)
	}
	return documentError(op, k, c.replace(ctx, at, nothing, expect))
}

// replace makes content the content of a configuration whose document has the
// revision expect.
func (c *Client) replace(ctx context.Context, k configKey, content, expect string) error {
	s, err := c.awaitDocuments(ctx)
	if err != nil {
		return err
	}
	before, found, err := c.query(ctx, s, k)
	if err != nil {
		return err
	}
	if expect == rc.NoRevision {
		if !found {
			// Whoever else makes it makes it the same.
			if err := c.change(ctx, s, k, nothing, md5Of("")); err != nil && !errors.Is(err, errCompare) {
				return err
			}
			err := c.seen(ctx, s, k, func(now string, there bool) bool {
				before = now
				return there
			})
			if err != nil {
				return err
			}
		}
		if before != nothing {
			return errCompare
		}
		expect = md5Of(nothing)
	} else if !found {
		// A change of what does not exist would make it. The server may only not have
		// heard of it yet.
		if err := c.seen(ctx, s, k, func(_ string, there bool) bool { return there }); err != nil {
			return errCompare
		}
	}
	if err := c.change(ctx, s, k, content, expect); err != nil {
		return err
	}
	return c.seen(ctx, s, k, func(now string, there bool) bool { return there && md5Of(now) != expect || expect == md5Of(content) })
}

// WatchDocument implements registryclient.KeyValues.
func (c *Client) WatchDocument(ctx context.Context, k rc.Key, fn func(rc.Document)) error {
	at, err := configKeyOf(k)
	if err != nil {
		return &rc.Error{Op: "watch document", Service: rc.Service(k), Kind: rc.Invalid, Err: err}
	}
	if ctx.Err() != nil {
		return nil
	}
	c.mu.Lock()
	d := c.documentsLocked()
	w := d.watched[at]
	if w == nil {
		w = &watched{key: k, value: latest.New[rc.Document]()}
		d.watched[at] = w
		d.markLocked(at)
	}
	w.refs++
	c.mu.Unlock()

	w.value.Follow(ctx, fn)

	c.mu.Lock()
	defer c.mu.Unlock()
	if w.refs--; w.refs == 0 {
		d.markLocked(at)
		delete(d.watched, at)
	}
	return nil
}
