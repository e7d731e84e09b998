// Package native is a registry-native application as far as the compat tests
// need one: it registers, keeps and lists instances over the registry's HTTP API,
// with the requests that one would type into curl.
package native

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Registry is a registry reached over HTTP.
type Registry struct {
	URL   string // base URL, no slash at its end
	Token string // bearer token, if the registry wants one
}

func (r Registry) service(name string) string {
	return r.URL + "/v1/namespaces/public/groups/DEFAULT_GROUP/services/" + url.PathEscape(name)
}

// Register registers an instance, or keeps it for another ttl.
func (r Registry) Register(ctx context.Context, service, address string, ttl time.Duration, metadata map[string]string) error {
	body, err := json.Marshal(map[string]any{"ttl": ttl.String(), "metadata": metadata})
	if err != nil {
		return err
	}
	_, err = r.do(ctx, http.MethodPut, r.service(service)+"/instances/"+address, body)
	return err
}

// Deregister removes an instance.
func (r Registry) Deregister(ctx context.Context, service, address string) error {
	_, err := r.do(ctx, http.MethodDelete, r.service(service)+"/instances/"+address, nil)
	return err
}

// Addresses are the host:port of a service's instances, as native readers see
// them.
func (r Registry) Addresses(ctx context.Context, service string) ([]string, error) {
	body, err := r.do(ctx, http.MethodGet, r.service(service)+"/instances", nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Instances []struct {
			IP   string `json:"ip"`
			Port int    `json:"port"`
		} `json:"instances"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	addresses := []string{}
	for _, i := range list.Instances {
		addresses = append(addresses, net.JoinHostPort(i.IP, strconv.Itoa(i.Port)))
	}
	return addresses, nil
}

func (r Registry) do(ctx context.Context, method, to string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, to, res.Status, answer)
	}
	return answer, nil
}

// Metadata is what Dubbo's own registry for such a backend writes for a provider
// of an interface without version and group.
func Metadata(application, iface, methods, protocol string) map[string]string {
	return map[string]string{
		"application": application,
		"category":    "providers",
		"deprecated":  "false",
		"dubbo":       "2.0.2",
		"dynamic":     "true",
		"generic":     "false",
		"interface":   iface,
		"methods":     methods,
		"path":        iface,
		"protocol":    protocol,
		"release":     "3.3.6",
		"side":        "provider",
		"timestamp":   strconv.FormatInt(time.Now().UnixMilli(), 10),
	}
}
