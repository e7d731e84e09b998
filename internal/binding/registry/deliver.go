package registry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// outcome is what became of a list.
type outcome struct {
	accepted []claims.Listed    // what the registry has from us, sorted
	refused  map[string]refused // what it does not take, by the path of the znode
	sent     bool               // there was a call
	err      error              // what is to be tried again; accepted is not known then
}

// deliver publishes a list. If the registry refuses it, the instances that it
// refuses are found and left out; on the way the registry has at any time all
// of the list that it is known to take.
func (p *publisher) deliver(ctx context.Context, o *outgoing, list []claims.Listed, left map[string]refused, generation uint64) outcome {
	d := &delivery{p: p, service: o.service, generation: generation, outcome: outcome{refused: left, sent: true}}
	err := d.send(ctx, list)
	if errors.Is(err, registryclient.ErrInvalid) && len(list) > 0 {
		err = d.isolate(ctx, list, o.accepted, len(o.accepted) == 0 && !o.doubt, err)
	}
	d.err = err
	return d.outcome
}

// delivery is one list on its way, in one or several calls.
type delivery struct {
	p          *publisher
	service    registryclient.Service
	generation uint64
	outcome
}

// send publishes exactly list.
func (d *delivery) send(ctx context.Context, list []claims.Listed) error {
	p := d.p
	sortListed(list)
	instances := make([]registryclient.Instance, len(list))
	for i, l := range list {
		instances[i] = l.Instance
	}
	p.table.Publishing(d.service, instances)
	p.mu.Lock()
	p.last = max(p.last+1, d.generation)
	generation := p.last
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.PublishTimeout)
	defer cancel()
	begun := time.Now()
	err := p.cfg.Client.Publish(ctx, registryclient.Publication{
		Owner: p.cfg.Owner, Service: d.service, Generation: generation, Instances: instances,
	})
	if err == nil {
		p.table.Published(d.service, instances, time.Now())
		d.accepted = slices.Clone(list)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counted.PublishTime += time.Since(begun)
	var failed *registryclient.Error
	switch {
	case err == nil:
		p.counted.Published++
	case errors.As(err, &failed) && !failed.Retryable():
		p.counted.PublishRefusals++
	default:
		p.counted.PublishFailures++
	}
	return err
}

// isolate finds what the registry refuses of a list that it has refused. What
// it had before is taken to be good until it says otherwise.
// clean says that it had nothing for certain.
func (d *delivery) isolate(ctx context.Context, list, before []claims.Listed, clean bool, refusal error) error {
	var good, suspects []claims.Listed
	for _, l := range list {
		if holds(before, l.Instance) {
			good = append(good, l)
		} else {
			suspects = append(suspects, l)
		}
	}
	if clean && len(suspects) > 1 {
		// Is it the service that is refused, not its instances? Then a call for each
		// would be a waste.
		err := d.send(ctx, nil)
		if errors.Is(err, registryclient.ErrInvalid) {
			for _, l := range suspects {
				d.refuse(l, err)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
	d.accepted = nil
	found := maps.Clone(d.refused)
	kept, err := d.try(ctx, good, suspects, refusal)
	if err == nil {
		kept = d.keep(kept, before, found)
	}
	if err != nil || sameList(kept, d.accepted) && (clean || len(kept) > 0) {
		return err // the last call was for exactly these, or there is nothing and was nothing
	}
	err = d.send(ctx, kept)
	if errors.Is(err, registryclient.ErrInvalid) && len(good) > 0 {
		// What it had before is not all taken now, so the others may be good.
		d.refused = found
		if kept, err = d.try(ctx, nil, list, refusal); err == nil && len(kept) == 0 {
			err = d.send(ctx, nil)
		}
	}
	if errors.Is(err, registryclient.ErrInvalid) {
		return nil // even nothing is refused: then the registry has nothing of ours
	}
	return err
}

// keep adds to what the registry takes what it had before at the ip and port of
// something that it has refused now: whether that is still wanted is looked at
// next, and until then the address is not without an instance.
func (d *delivery) keep(kept, before []claims.Listed, known map[string]refused) []claims.Listed {
	replaced := make(map[string]bool)
	for path, r := range d.refused {
		if _, ok := known[path]; !ok {
			replaced[r.listed.At] = true
		}
	}
	for _, b := range before {
		if replaced[b.At] && d.refused[b.Path()].listed.At == "" && !slices.ContainsFunc(kept, func(k claims.Listed) bool { return k.At == b.At }) {
			kept = append(kept, b)
		}
	}
	sortListed(kept)
	return kept
}

// holds tells whether an instance is in a sorted list.
func holds(sorted []claims.Listed, in registryclient.Instance) bool {
	_, ok := slices.BinarySearchFunc(sorted, in, func(l claims.Listed, in registryclient.Instance) int { return l.Instance.Compare(in) })
	return ok
}

// try adds to good what the registry takes of suspects, and gives both
// together. refusal is what it has said to all of them at once; nil if it has
// not been asked.
func (d *delivery) try(ctx context.Context, good, suspects []claims.Listed, refusal error) ([]claims.Listed, error) {
	if len(suspects) == 0 {
		return good, nil
	}
	if refusal == nil {
		all := slices.Concat(good, suspects)
		if refusal = d.send(ctx, all); refusal == nil {
			return all, nil
		}
		if !errors.Is(refusal, registryclient.ErrInvalid) {
			return nil, refusal
		}
	}
	if len(suspects) == 1 {
		d.refuse(suspects[0], refusal)
		return good, nil
	}
	half := len(suspects) / 2
	good, err := d.try(ctx, good, suspects[:half], nil)
	if err != nil {
		return nil, err
	}
	return d.try(ctx, good, suspects[half:], nil)
}

func (d *delivery) refuse(l claims.Listed, err error) {
	text := err.Error()
	var failed *registryclient.Error
	if errors.As(err, &failed) && failed.Err != nil {
		text = failed.Err.Error()
	}
	d.refused[l.Path()] = refused{listed: l, text: text, until: time.Now().Add(d.p.cfg.RefusedRetry)}
}

// metadataSize is what registries limit: the characters of all keys and values.
func metadataSize(in registryclient.Instance) (n int) {
	for k, v := range in.Metadata {
		n += utf8.RuneCountInString(k) + utf8.RuneCountInString(v)
	}
	return n
}
