package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	rc "zkbridge/registryclient"
)

// Record is an instance as the HTTP API shows it.
type Record struct {
	IP       string            `json:"ip"`
	Port     int               `json:"port"`
	Cluster  string            `json:"cluster,omitempty"`
	Weight   float64           `json:"weight"`
	Enabled  bool              `json:"enabled"`
	Healthy  bool              `json:"healthy"`
	Metadata map[string]string `json:"metadata"`
	Owner    string            `json:"owner,omitempty"` // "cluster/bridge" that published it; empty: a native application did
	TTL      string            `json:"ttl,omitempty"`   // of a native instance, e.g. "10s"
}

// Instance gives the record as the rest of the program knows it.
func (r Record) Instance() rc.Instance {
	return rc.Instance{IP: r.IP, Port: r.Port, Cluster: r.Cluster, Weight: r.Weight, Enabled: r.Enabled, Healthy: r.Healthy, Metadata: r.Metadata}
}

func wireRecord(r record) Record {
	w := Record{IP: r.IP, Port: r.Port, Cluster: r.Cluster, Weight: r.Weight, Enabled: r.Enabled, Healthy: r.Healthy, Metadata: r.Metadata, Owner: r.owner.String()}
	if w.Metadata == nil {
		w.Metadata = map[string]string{}
	}
	if r.ttl > 0 {
		w.TTL = r.ttl.String()
	}
	return w
}

// InstanceList is the list of one service at one moment.
type InstanceList struct {
	Namespace string   `json:"namespace"`
	Group     string   `json:"group"`
	Service   string   `json:"service"`
	Revision  uint64   `json:"revision"`
	Instances []Record `json:"instances"`
}

// ServiceInfo is one line of the list of services.
type ServiceInfo struct {
	Namespace string `json:"namespace"`
	Group     string `json:"group"`
	Service   string `json:"service"`
	Instances int    `json:"instances"` // as native readers see them
	Revision  uint64 `json:"revision"`
}

// ServiceList is the answer to the two lists of services.
type ServiceList struct {
	Services []ServiceInfo `json:"services"`
}

// Registration is the body of a native registration. Everything may be left
// out: what is nil has its default.
type Registration struct {
	TTL      Duration          `json:"ttl,omitzero"` // default 30s
	Cluster  string            `json:"cluster,omitempty"`
	Weight   *float64          `json:"weight,omitempty"`  // default 1
	Enabled  *bool             `json:"enabled,omitempty"` // default true
	Healthy  *bool             `json:"healthy,omitempty"` // default true
	Metadata map[string]string `json:"metadata,omitempty"`
}

// instance gives the instance that the registration describes.
func (g Registration) instance(ip string, port int) rc.Instance {
	i := rc.Instance{IP: ip, Port: port, Cluster: g.Cluster, Weight: 1, Enabled: true, Healthy: true, Metadata: g.Metadata}
	if g.Weight != nil {
		i.Weight = *g.Weight
	}
	if g.Enabled != nil {
		i.Enabled = *g.Enabled
	}
	if g.Healthy != nil {
		i.Healthy = *g.Healthy
	}
	return i
}

// Registered is the answer to a registration and to a heart-beat.
type Registered struct {
	Service  string   `json:"service"`
	Instance string   `json:"instance"` // "ip:port"
	TTL      Duration `json:"ttl"`      // the instance ends when nothing is heard for that long
	Created  bool     `json:"created"`  // it was not registered before
}

// Status is what the registry says about itself.
type Status struct {
	Epoch     string      `json:"epoch"` // another one after every start
	Revision  uint64      `json:"revision"`
	Settled   bool        `json:"settled"` // those known before the start have had the time to come back
	Services  int         `json:"services"`
	Native    int         `json:"nativeInstances"`
	Owned     int         `json:"ownedInstances"`
	Watches   int         `json:"watches"`
	Expired   uint64      `json:"expired"`
	SavedAt   *time.Time  `json:"snapshotSavedAt,omitempty"`
	SaveFails uint64      `json:"snapshotErrors"`
	Owners    []OwnerInfo `json:"owners"`
}

// Duration is a time.Duration that is written as "10s" or "1m30s".
type Duration time.Duration

// MarshalJSON writes it as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads it as text.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s is not a duration such as \"10s\"", b)
	}
	v, err := time.ParseDuration(s)
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a duration such as \"10s\"", s)
	}
	*d = Duration(v)
	return nil
}

// The bodies of the owner end points and of the group's stream. They are
// described in the OpenAPI document with the rest.
type (
	leaseRequest struct {
		Incarnation uint32   `json:"incarnation"`
		TTL         Duration `json:"ttl"`
	}
	leaseAnswer struct {
		Lease string   `json:"lease"`
		TTL   Duration `json:"ttl"`
	}
	publishRequest struct {
		Incarnation uint32        `json:"incarnation"`
		Generation  uint64        `json:"generation"`
		TTL         Duration      `json:"ttl"`
		Instances   []publishItem `json:"instances"`
	}
	publishItem struct {
		IP       string            `json:"ip"`
		Port     int               `json:"port"`
		Cluster  string            `json:"cluster,omitempty"`
		Weight   float64           `json:"weight"`
		Enabled  bool              `json:"enabled"`
		Healthy  bool              `json:"healthy"`
		Metadata map[string]string `json:"metadata,omitempty"`
	}
	serviceName struct {
		Namespace string `json:"namespace"`
		Group     string `json:"group"`
		Service   string `json:"service"`
	}
	ownServicesAnswer struct {
		Services []serviceName `json:"services"`
	}
	namesEvent struct {
		Names    []string `json:"names"`
		Revision uint64   `json:"revision"`
	}
	syncedEvent struct {
		Epoch    string `json:"epoch"`
		Revision uint64 `json:"revision"`
		Settled  bool   `json:"settled"`
	}
	helloEvent struct {
		Epoch   string `json:"epoch"`
		Resumed bool   `json:"resumed"` // only what changed since the position asked for follows
	}
)

// decodeBody reads a JSON object strictly: an unknown key is a spelling mistake.
func decodeBody(body []byte, into any) *Problem {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && strings.HasPrefix(kind.Field, "metadata") {
			return problem(codeInvalid, "write metadata values as strings, e.g. \"20880\"", "%s", jsonError(err))
		}
		return problem(codeInvalid, "send a JSON object with the fields described at /openapi.yaml", "%s", jsonError(err))
	}
	if d.More() {
		return problem(codeInvalid, "send one JSON object", "there is something after the JSON object")
	}
	return nil
}

func jsonError(err error) string {
	return "the body is not right: " + strings.TrimPrefix(err.Error(), "json: ")
}

// parseAddress splits "ip:port"; an IPv6 address is in brackets.
func parseAddress(s string) (ip string, port int, p *Problem) {
	ip, text, err := net.SplitHostPort(s)
	n, perr := strconv.ParseUint(text, 10, 16)
	if err != nil || perr != nil || n > math.MaxUint16 || ip == "" {
		return "", 0, problem(codeInvalid, "write it as 10.0.0.1:20880 or [fe80::1]:20880", "the instance %q is not an address and a port", s)
	}
	return ip, int(n), nil
}
