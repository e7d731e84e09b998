package embedded

import (
	"time"

	rc "zkbridge/registryclient"
)

// Standstill makes the registry believe that its process stood still for d.
func (r *Registry) Standstill(d time.Duration) { r.standstill(d) }

// OpenAPIDocument is what is served at /openapi.yaml.
var OpenAPIDocument = openAPIDocument

// Routes gives "METHOD /path" of every operation.
func Routes() []string {
	var list []string
	for _, rt := range new(handler).routes() {
		list = append(list, rt.method+" "+rt.pattern)
	}
	return list
}

// SnapshotFile is the name of the snapshot in a Dir.
const SnapshotFile = snapshotFile

// Remembered counts the services and groups that the registry has in memory.
func Remembered(r *Registry) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.services) + len(r.groups)
}

// ListOf gives every record of a service.
func ListOf(r *Registry, s rc.Service) (list []Record) {
	v, p := r.viewOf(s)
	if p != nil {
		panic(p)
	}
	for _, i := range v.records {
		list = append(list, wireRecord(i))
	}
	return list
}

// Save writes a snapshot.
func Save(r *Registry) error { return r.save() }
