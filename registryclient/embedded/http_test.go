package embedded_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

// served gives a running registry and the URL of its API.
func served(t *testing.T, cfg embedded.Config, token string) (*embedded.Registry, string) {
	t.Helper()
	reg := running(t, cfg)
	srv := httptest.NewServer(embedded.NewHandler(reg, embedded.HandlerConfig{Token: token, Ping: 10 * time.Millisecond}))
	t.Cleanup(srv.Close)
	return reg, srv.URL
}

const inGroup = "/v1/namespaces/public/groups/DEFAULT_GROUP"

func TestHTTP(t *testing.T) {
	_, url := served(t, embedded.Config{Limits: embedded.Limits{Body: 200, OwnerBody: 400}}, "")
	const bar = inGroup + "/services/providers:com.foo.Bar::"
	const lease = `{"incarnation":3,"ttl":"30s"}`
	for _, c := range []struct {
		name         string
		method, path string
		body         string
		status       int
		want         string // in the body
	}{
		{"health", "GET", "/healthz", "", 200, `{"status":"up"}`},
		{"description", "GET", "/openapi.yaml", "", 200, "openapi: 3.1.0"},
		{"empty list", "GET", bar + "/instances", "", 200, `"instances":[]}`},
		{"register with defaults", "PUT", bar + "/instances/10.0.0.1:20880", "", 201, `"ttl":"30s","created":true`},
		{"register again", "PUT", bar + "/instances/10.0.0.1:20880", `{"ttl":"10s","metadata":{"protocol":"dubbo"}}`, 200, `"instance":"10.0.0.1:20880","ttl":"10s","created":false`},
		{"one instance", "GET", bar + "/instances/10.0.0.1:20880", "", 200, `{"ip":"10.0.0.1","port":20880,"weight":1,"enabled":true,"healthy":true,"metadata":{"protocol":"dubbo"},"ttl":"10s"}`},
		{"heart-beat", "POST", bar + "/instances/10.0.0.1:20880/heartbeat", "", 200, `"ttl":"10s","created":false`},
		{"all fields", "PUT", bar + "/instances/%5Bfe80::1%5D:1", `{"ttl":"1m","cluster":"z","weight":0.5,"enabled":false,"healthy":false}`, 201, `"instance":"[fe80::1]:1"`},
		{"their list", "GET", bar + "/instances", "", 200, `{"ip":"fe80::1","port":1,"cluster":"z","weight":0.5,"enabled":false,"healthy":false,"metadata":{},"ttl":"1m0s"}`},
		{"name with slashes", "PUT", inGroup + "/services/a%2Fb%2F..%2Fc%3Fd%23e%25/instances/10.0.0.1:1", "", 201, `"service":"a/b/../c?d#e%"`},
		{"services of the group", "GET", inGroup + "/services", "", 200, `{"namespace":"public","group":"DEFAULT_GROUP","service":"providers:com.foo.Bar::","instances":2,`},
		{"services of nobody", "GET", "/v1/namespaces/x/groups/y/services", "", 200, `{"services":[]}`},
		{"all services", "GET", "/v1/services", "", 200, `"service":"a/b/../c?d#e%","instances":1`},
		{"deregister", "DELETE", bar + "/instances/%5Bfe80::1%5D:1", "", 204, ""},
		{"deregister again", "DELETE", bar + "/instances/%5Bfe80::1%5D:1", "", 404, `"code":"not_found"`},
		{"heart-beat of nobody", "POST", bar + "/instances/10.0.0.9:1/heartbeat", "", 404, `"remedy":"register it again with PUT"`},
		{"no such instance", "GET", bar + "/instances/10.0.0.9:1", "", 404, `"code":"not_found"`},
		{"no port", "PUT", bar + "/instances/10.0.0.1", "", 400, `"remedy":"write it as 10.0.0.1:20880 or`},
		{"port too large", "PUT", bar + "/instances/10.0.0.1:65536", "", 400, `"code":"invalid"`},
		{"not JSON", "PUT", bar + "/instances/10.0.0.1:1", "ttl=10s", 400, `"code":"invalid"`},
		{"ttl as a number", "PUT", bar + "/instances/10.0.0.1:1", `{"ttl":10}`, 400, `10 is not a duration such as \"10s\"`},
		{"ttl too short", "PUT", bar + "/instances/10.0.0.1:1", `{"ttl":"10ms"}`, 400, "choose a ttl from 1s"},
		{"negative ttl", "PUT", bar + "/instances/10.0.0.1:1", `{"ttl":"-1s"}`, 400, "is not a duration"},
		{"spelling mistake", "PUT", bar + "/instances/10.0.0.1:1", `{"metdata":{}}`, 400, `unknown field \"metdata\"`},
		{"metadata that is a number", "PUT", bar + "/instances/10.0.0.1:1", `{"metadata":{"port":20880}}`, 400, "write metadata values as strings"},
		{"two objects", "PUT", bar + "/instances/10.0.0.1:1", `{}{}`, 400, "send one JSON object"},
		{"body too large", "PUT", bar + "/instances/10.0.0.1:1", `{"metadata":{"k":"` + strings.Repeat("v", 200) + `"}}`, 413, `"code":"too_large"`},
		{"bad namespace", "GET", "/v1/namespaces/a%20b/groups/g/services", "", 400, "the namespace"},
		{"bad service", "GET", inGroup + "/services/a%20b/instances", "", 400, "the service name"},
		{"bad service of a watch", "GET", inGroup + "/services/a%20b/watch", "", 400, "the service name"},
		{"bad group of a watch", "GET", "/v1/namespaces/n/groups/a%20b/watch", "", 400, "the group"},
		{"bad flag", "GET", bar + "/instances?all=perhaps", "", 400, "write ?all=true"},
		{"no such path", "GET", "/v2/x", "", 404, `"code":"no_route"`},
		{"no such method", "POST", bar + "/instances", "", 405, `"remedy":"use GET"`},
		{"lease", "PUT", "/v1/owners/c1/1/lease", lease, 200, `"ttl":"30s"`},
		{"lease of an older incarnation", "PUT", "/v1/owners/c1/1/lease", `{"incarnation":2,"ttl":"30s"}`, 409, `"code":"stale"`},
		{"lease of bridge 0", "PUT", "/v1/owners/c1/0/lease", lease, 400, "from 1 to 254"},
		{"lease of bridge x", "PUT", "/v1/owners/c1/x/lease", lease, 400, "from 1 to 254"},
		{"lease without incarnation", "PUT", "/v1/owners/c1/1/lease", `{"ttl":"30s"}`, 400, "count incarnations from 1"},
		{"publish", "PUT", "/v1/owners/c1/1" + bar[3:], `{"incarnation":3,"generation":5,"ttl":"30s","instances":[{"ip":"10.0.0.1","port":20880,"weight":1,"enabled":true,"healthy":true},{"ip":"10.0.0.2","port":1,"weight":1,"enabled":true,"healthy":true}]}`, 200, `"lease":"`},
		{"publish an older generation", "PUT", "/v1/owners/c1/1" + bar[3:], `{"incarnation":3,"generation":4,"ttl":"30s","instances":[]}`, 409, `"code":"stale"`},
		{"publish too much", "PUT", "/v1/owners/c1/1" + bar[3:], `{"x":"` + strings.Repeat("x", 400) + `"}`, 413, `"code":"too_large"`},
		{"own services", "GET", "/v1/owners/c1/1/services", "", 200, `{"services":[{"namespace":"public","group":"DEFAULT_GROUP","service":"providers:com.foo.Bar::"}]}`},
		{"an address is shown once, natively", "GET", bar + "/instances", "", 200, `"instances":[{"ip":"10.0.0.1","port":20880,"weight":1,"enabled":true,"healthy":true,"metadata":{"protocol":"dubbo"},"ttl":"10s"},{"ip":"10.0.0.2","port":1,"weight":1,"enabled":true,"healthy":true,"metadata":{},"owner":"c1/1"}]`},
		{"or every record", "GET", bar + "/instances?all=true", "", 200, `{"ip":"10.0.0.1","port":20880,"weight":1,"enabled":true,"healthy":true,"metadata":{},"owner":"c1/1"}`},
		{"a bridge's instance is not deregistered", "DELETE", bar + "/instances/10.0.0.2:1", "", 404, "removed by the bridge"},
		{"status", "GET", "/v1/status", "", 200, `"owners":[{"owner":"c1/1","incarnation":3,"ttl":"30s","services":1,"instances":2}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body))
			require.NoError(t, err)
			resp, err := http.DefaultTransport.RoundTrip(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, c.status, resp.StatusCode, "%s", body)
			require.Contains(t, string(body), c.want)
			if c.status >= 400 {
				var p embedded.Problem
				require.NoError(t, json.Unmarshal(body, &p))
				assert.NotEmpty(t, p.Code)
				assert.NotEmpty(t, p.Message)
				assert.NotEmpty(t, p.Remedy)
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestToken(t *testing.T) {
	_, url := served(t, embedded.Config{}, "s3cret")
	for _, c := range []struct {
		name, path, header string
		status             int
	}{
		{"none", "/v1/status", "", 401},
		{"wrong", "/v1/status", "Bearer s3cre", 401},
		{"wrong scheme", "/v1/status", "Basic s3cret", 401},
		{"right", "/v1/status", "Bearer s3cret", 200},
		{"small letters", "/v1/status", "bearer s3cret", 200},
		{"health needs none", "/healthz", "", 200},
		{"the description needs none", "/openapi.yaml", "", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+c.path, nil)
			require.NoError(t, err)
			if c.header != "" {
				req.Header.Set("Authorization", c.header)
			}
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, c.status, resp.StatusCode)
		})
	}
	api, err := embedded.NewHTTPClient(embedded.HTTPClientConfig{Address: url, Token: "no"})
	require.NoError(t, err)
	defer api.Close()
	_, err = api.Status(t.Context())
	require.ErrorIs(t, err, rc.ErrDenied)
	require.ErrorContains(t, err, "Authorization: Bearer TOKEN")
	http.DefaultClient.CloseIdleConnections()
}

// stream opens an event stream; next gives its next event as "name id data",
// comments left out.
func stream(t *testing.T, url, lastID string) (next func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	t.Cleanup(func() {
		cancel()
		resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		t.Helper()
		var e []string
		for lines.Scan() {
			switch line := lines.Text(); {
			case line == "" && e != nil:
				return strings.Join(e, " ")
			case line == "" || line[0] == ':':
			default:
				_, v, _ := strings.Cut(line, ": ")
				e = append(e, v)
			}
		}
		require.NoError(t, lines.Err())
		t.Fatal("the stream has ended")
		return ""
	}
}

func TestWatchService(t *testing.T) {
	reg, url := served(t, embedded.Config{}, "")
	next := stream(t, url+inGroup+"/services/s/watch", "")
	require.Contains(t, next(), `"instances":[]`)
	_, err := reg.Register(service("s"), native("10.0.0.1", 1), time.Minute)
	require.NoError(t, err)
	first := next()
	require.Contains(t, first, "instances ")
	require.Contains(t, first, `"ip":"10.0.0.1"`)
	require.NoError(t, reg.Deregister(service("s"), "10.0.0.1:1"))
	require.Contains(t, next(), `"instances":[]`)
	require.Equal(t, 1, reg.Stats().Watches)
}

func TestWatchGroupAndResume(t *testing.T) {
	reg, url := served(t, embedded.Config{Epoch: "E", Settle: time.Millisecond}, "")
	register := func(name, ip string) {
		t.Helper()
		_, err := reg.Register(service(name), native(ip, 1), time.Minute)
		require.NoError(t, err)
	}
	register("b", "10.0.0.1")
	register("a", "10.0.0.1")
	next := stream(t, url+inGroup+"/watch?instances=true", "")
	require.Equal(t, `hello {"epoch":"E","resumed":false}`, next())
	require.Contains(t, next(), `names {"names":["a","b"]`)
	require.Contains(t, next(), `"service":"b"`)
	require.Contains(t, next(), `"service":"a"`)
	synced := next()
	require.Contains(t, synced, `"epoch":"E"`)
	register("a", "10.0.0.2")
	require.Contains(t, next(), `"ip":"10.0.0.2"`) // only the list that changed, no names
	position := strings.Fields(next())[1]
	require.Regexp(t, `^E\.\d+$`, position)

	register("c", "10.0.0.1")
	require.NoError(t, reg.Deregister(service("b"), "10.0.0.1:1"))
	next = stream(t, url+inGroup+"/watch?instances=true", position)
	require.Equal(t, `hello {"epoch":"E","resumed":true}`, next())
	require.Contains(t, next(), `names {"names":["a","b","c"]`)
	require.Contains(t, next(), `"service":"c"`)
	require.Contains(t, next(), `"service":"b"`)
	require.Contains(t, next(), "synced ")

	// A position of another life of the registry, of the future, or nonsense: everything.
	for _, id := range []string{"F.3", "E.99999", "E.", "E", "nonsense", "E.-1"} {
		next = stream(t, url+inGroup+"/watch", id)
		require.Equal(t, `hello {"epoch":"E","resumed":false}`, next(), "position %q", id)
		require.Contains(t, next(), `names {"names":["a","b","c"]`)
		require.Contains(t, next(), "synced ") // no lists without instances=true
	}
}

func TestWatchesAreLimited(t *testing.T) {
	reg, url := served(t, embedded.Config{Limits: embedded.Limits{Watches: 1}}, "")
	next := stream(t, url+inGroup+"/watch", "")
	next()
	resp, err := http.Get(url + inGroup + "/services/s/watch")
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Contains(t, string(body), "raise the registry's limit of watches")
	// Clients in the same process are not counted out.
	ctx, cancel := context.WithCancel(t.Context())
	c, err := embedded.NewLocal(reg, bridge, 0)
	require.NoError(t, err)
	require.NoError(t, c.Subscribe(ctx, service("s"), func(rc.Snapshot) { cancel() }))
}

func TestHTTPClient(t *testing.T) {
	_, url := served(t, embedded.Config{}, "")
	api, err := embedded.NewHTTPClient(embedded.HTTPClientConfig{Address: strings.TrimPrefix(url, "http://")})
	require.NoError(t, err)
	defer api.Close()
	ctx := t.Context()
	s := service("providers:com.foo/Bar:1:")
	g := embedded.Registration{TTL: embedded.Duration(10 * time.Second), Metadata: map[string]string{"protocol": "dubbo"}}
	r, err := api.Register(ctx, s, "fe80::1", 20880, g)
	require.NoError(t, err)
	assert.Equal(t, embedded.Registered{Service: s.Name, Instance: "[fe80::1]:20880", TTL: g.TTL, Created: true}, r)
	r, err = api.Heartbeat(ctx, s, "fe80::1", 20880)
	require.NoError(t, err)
	assert.Equal(t, embedded.Registered{Service: s.Name, Instance: "[fe80::1]:20880", TTL: g.TTL}, r)

	l, err := api.Instances(ctx, s, false)
	require.NoError(t, err)
	require.Len(t, l.Instances, 1)
	assert.Equal(t, rc.Instance{IP: "fe80::1", Port: 20880, Weight: 1, Enabled: true, Healthy: true, Metadata: g.Metadata}, l.Instances[0].Instance())
	for _, in := range [][2]string{{"", ""}, {"public", "DEFAULT_GROUP"}} {
		list, err := api.Services(ctx, in[0], in[1])
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, s.Name, list[0].Service)
		assert.Equal(t, 1, list[0].Instances)
	}
	st, err := api.Status(ctx)
	require.NoError(t, err)
	assert.Equal(t, 1, st.Native)

	watching, stop := context.WithCancel(ctx)
	var sizes []int
	err = api.Watch(watching, s, false, func(l embedded.InstanceList) {
		if sizes = append(sizes, len(l.Instances)); len(sizes) == 2 {
			stop()
			return
		}
		if err := api.Deregister(ctx, s, "fe80::1", 20880); err != nil {
			t.Error(err)
		}
	})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 0}, sizes)

	_, err = api.Heartbeat(ctx, s, "fe80::1", 20880)
	require.ErrorIs(t, err, rc.ErrNotFound)
	var p *embedded.Problem
	require.ErrorAs(t, err, &p)
	assert.Equal(t, "register it again with PUT", p.Remedy)

	for _, bad := range []string{"ftp://x", "http://", "http://x/?y=1", "://"} {
		_, err := embedded.NewHTTPClient(embedded.HTTPClientConfig{Address: bad})
		require.ErrorIs(t, err, rc.ErrInvalid, bad)
	}
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	lost, err := embedded.NewHTTPClient(embedded.HTTPClientConfig{Address: stranger.URL})
	require.NoError(t, err)
	defer lost.Close()
	_, err = lost.Status(ctx)
	require.ErrorContains(t, err, "is this the registry's address?")
	stranger.Close()
	_, err = lost.Status(ctx)
	require.ErrorIs(t, err, rc.ErrUnavailable)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = lost.Status(gone)
	require.ErrorIs(t, err, context.Canceled)
}

// TestOpenAPI keeps the description and the routes the same, and the
// description whole.
func TestOpenAPI(t *testing.T) {
	var doc struct {
		OpenAPI string                          `yaml:"openapi"`
		Paths   map[string]map[string]yaml.Node `yaml:"paths"`
	}
	require.NoError(t, yaml.Unmarshal(embedded.OpenAPIDocument, &doc))
	assert.Equal(t, "3.1.0", doc.OpenAPI)
	parameter := regexp.MustCompile(`\{(\w+)\}`)
	var described []string
	for path, item := range doc.Paths {
		var parameters []struct {
			Ref string `yaml:"$ref"`
		}
		if node, ok := item["parameters"]; ok {
			require.NoError(t, node.Decode(&parameters))
		}
		var named, wanted []string
		for _, p := range parameters {
			named = append(named, strings.TrimPrefix(p.Ref, "#/components/parameters/"))
		}
		for _, m := range parameter.FindAllStringSubmatch(path, -1) {
			wanted = append(wanted, m[1])
		}
		assert.Equal(t, wanted, named, "parameters of %s", path)
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			described = append(described, strings.ToUpper(method)+" "+path)
			var op struct {
				ID        string               `yaml:"operationId"`
				Summary   string               `yaml:"summary"`
				Responses map[string]yaml.Node `yaml:"responses"`
			}
			require.NoError(t, node.Decode(&op))
			assert.NotEmpty(t, op.ID, "%s %s", method, path)
			assert.NotEmpty(t, op.Summary, "%s %s", method, path)
			assert.NotEmpty(t, op.Responses, "%s %s", method, path)
		}
	}
	routes := embedded.Routes()
	slices.Sort(routes)
	slices.Sort(described)
	assert.Equal(t, routes, described)

	var whole map[string]any
	require.NoError(t, yaml.Unmarshal(embedded.OpenAPIDocument, &whole))
	var follow func(any)
	follow = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				at := any(whole)
				for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					m, _ := at.(map[string]any)
					at = m[step]
				}
				assert.NotNil(t, at, "nothing is at %s", ref)
			}
			for _, x := range v {
				follow(x)
			}
		case []any:
			for _, x := range v {
				follow(x)
			}
		}
	}
	follow(whole)
}

// TestDocumentedCommands runs every curl line of the documentation.
func TestDocumentedCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/registry.md")
	require.NoError(t, err)
	_, url := served(t, embedded.Config{}, "s3cret")
	words := regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
	count := 0
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		count++
		t.Run(line, func(t *testing.T) {
			method, target, body, endless := "GET", "", "", false
			list := words.FindAllString(line, -1)[1:]
			for k := 0; k < len(list); k++ {
				word := strings.Trim(list[k], `'"`)
				switch {
				case word == "-X":
					k++
					method = list[k]
				case word == "-d":
					k++
					body = strings.Trim(list[k], "'")
				case word == "-H":
					k++
					require.Equal(t, `"Authorization: Bearer $TOKEN"`, list[k])
				case word == "-N":
					endless = true
				case strings.HasPrefix(word, "http://127.0.0.1:8849/"):
					target = strings.Replace(word, "http://127.0.0.1:8849", url, 1)
				case word == "-s", word == "-i":
				default:
					t.Fatalf("what is %q?", word)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer s3cret")
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			assert.Less(t, resp.StatusCode, 300)
			assert.Equal(t, endless, resp.Header.Get("Content-Type") == "text/event-stream")
		})
	}
	assert.Greater(t, count, 8)
	http.DefaultClient.CloseIdleConnections()
}
