package embedded

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

// FuzzReadEvents: nothing that a peer sends panics, and events are delivered
// with what their lines said.
func FuzzReadEvents(f *testing.F) {
	f.Add([]byte("event: synced\nid: E.1\ndata: {}\n\n: ping\n\nevent:names\ndata:a\ndata: b\n\n"))
	f.Add([]byte("data\n\n\n\r\nevent: x"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		lines := 0
		err := readEvents(bytes.NewReader(stream), func() { lines++ }, func(e event) error {
			if e.name == "" && e.data == nil {
				t.Error("got an event of nothing")
			}
			return nil
		})
		if err == nil {
			t.Error("got no error at the end of the stream, want one")
		}
		if len(stream) == 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got error %v, want %v", err, io.ErrUnexpectedEOF)
		}
	})
}

// FuzzSnapshot: no file panics; what loads is saved and loads again as the same.
func FuzzSnapshot(f *testing.F) {
	good := &fuzzDisk{}
	r, err := New(Config{Disk: good})
	if err != nil {
		f.Fatal(err)
	}
	if err := r.save(); err != nil {
		f.Fatal(err)
	}
	f.Add(good.file, true)
	f.Add([]byte(`{"revision":1,"owners":[{"cluster":"c","bridge":1,"incarnation":2,"ttl":1000000000}],"services":[{"namespace":"n","group":"g","name":"s","native":[{"instance":{"IP":"10.0.0.1"},"ttl":1}],"owned":[{"cluster":"c","bridge":1,"incarnation":2,"generation":3,"instances":[{"IP":"10.0.0.1"}]}]}]}`), false)
	f.Fuzz(func(t *testing.T, file []byte, whole bool) {
		if !whole {
			file = sealed(file)
		}
		disk := &fuzzDisk{file: file}
		r, err := New(Config{Disk: disk})
		if err != nil {
			return // a newer format
		}
		before := r.Stats()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		again, err := New(Config{Disk: disk})
		if err != nil {
			t.Fatal(err)
		}
		after := again.Stats()
		// What had no time left may have ended between.
		if after.NativeInstances > before.NativeInstances || after.OwnedInstances > before.OwnedInstances {
			t.Errorf("got %+v, want %+v", after, before)
		}
	})
}

type fuzzDisk struct{ file []byte }

func (d *fuzzDisk) Load() ([]byte, error)     { return d.file, nil }
func (d *fuzzDisk) Save(b []byte) error       { d.file = b; return nil }
func (d *fuzzDisk) SetAside() (string, error) { return "aside", nil }
