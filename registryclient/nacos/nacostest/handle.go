package nacostest

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"

	"zkbridge/registryclient/nacos/internal/payload"
)

// unary handles one request.
func (s *Server) unary(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var in payload.Payload
	if err := decode(&in); err != nil {
		return nil, err
	}
	k := ctx.Value(clientKey{}).(*client)
	call := Call{Type: in.Type, Headers: in.Headers}
	if err := json.Unmarshal(in.Body, &call.Body); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.calls = append(s.calls, call)
	slow, mute, refuse, forget := s.slow, s.mute, s.refuse, s.forget
	s.mu.Unlock()
	if mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if slow > 0 {
		t := time.NewTimer(slow)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if refuse != nil {
		if code, message := refuse(call); code != 0 {
			return answer("ErrorResponse", map[string]any{"resultCode": code, "errorCode": code, "message": message}), nil
		}
	}
	if forget != nil && forget(call) {
		return answer(strings.TrimSuffix(in.Type, "Request")+"Response", map[string]any{}), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handleLocked(k, &in), nil
}

func answer(kind string, body map[string]any) *payload.Payload {
	if _, ok := body["resultCode"]; !ok {
		body["resultCode"] = 200
	}
	raw, _ := json.Marshal(body)
	return &payload.Payload{Type: kind, Body: raw}
}

func refused(kind string, result, code int, format string, args ...any) *payload.Payload {
	return answer(kind, map[string]any{"resultCode": result, "errorCode": code, "message": fmt.Sprintf(format, args...)})
}

// request is the union of all requests.
type request struct {
	Namespace       string     `json:"namespace"`
	ServiceName     string     `json:"serviceName"`
	GroupName       string     `json:"groupName"`
	Type            string     `json:"type"`
	Instance        Instance   `json:"instance"`
	Instances       []Instance `json:"instances"`
	Subscribe       bool       `json:"subscribe"`
	GroupKeyPattern string     `json:"groupKeyPattern"`
	DataID          string     `json:"dataId"`
	Group           string     `json:"group"`
	Tenant          string     `json:"tenant"`
	Content         string     `json:"content"`
	CasMD5          string     `json:"casMd5"`
	Listen          bool       `json:"listen"`
	Contexts        []struct {
		Group, MD5, DataID, Tenant string
	} `json:"configListenContexts"`
}

func (s *Server) handleLocked(k *client, in *payload.Payload) *payload.Payload {
	var r request
	if err := json.Unmarshal(in.Body, &r); err != nil {
		return refused("ErrorResponse", 500, 500, "%v", err)
	}
	svc := Service{r.Namespace, r.GroupName, r.ServiceName}
	key := configKey{r.Tenant, r.Group, r.DataID}
	if key.tenant == "public" {
		key.tenant = ""
	}
	if in.Type == "ServerCheckRequest" {
		return answer("ServerCheckResponse", map[string]any{"connectionId": k.id, "supportAbilityNegotiation": !s.opts.Old})
	}
	if !k.ready {
		return refused("ErrorResponse", 500, 301, "Connection is unregistered.")
	}
	if s.opts.User != "" && in.Type != "HealthCheckRequest" && time.Now().After(s.tokens[in.Headers["accessToken"]]) {
		return refused("ErrorResponse", 500, 403, "token invalid!")
	}
	switch in.Type {
	case "HealthCheckRequest":
		return answer("HealthCheckResponse", map[string]any{})
	case "InstanceRequest":
		if r.Type == "deregisterInstance" {
			return s.listLocked(k, svc, nil, "InstanceResponse")
		}
		return s.listLocked(k, svc, []Instance{r.Instance}, "InstanceResponse")
	case "BatchInstanceRequest":
		if s.opts.Old {
			return refused("ErrorResponse", 500, 302, "RequestHandler Not Found")
		}
		return s.listLocked(k, svc, r.Instances, "BatchInstanceResponse")
	case "SubscribeServiceRequest":
		if r.Subscribe {
			k.follows[svc] = true
			s.changedForLocked(k, svc)
		} else {
			delete(k.follows, svc)
		}
		return answer("SubscribeServiceResponse", map[string]any{"serviceInfo": s.infoLocked(svc)})
	case "ServiceQueryRequest":
		return answer("QueryServiceResponse", map[string]any{"serviceInfo": s.infoLocked(svc)})
	case "ServiceListRequest":
		names := []string{}
		for n := range s.names {
			if n.Namespace == r.Namespace && n.Group == r.GroupName {
				names = append(names, n.Name)
			}
		}
		return answer("ServiceListResponse", map[string]any{"count": len(names), "serviceNames": names})
	case "NamingFuzzyWatchRequest":
		switch {
		case !s.opts.FuzzyWatch:
			return refused("ErrorResponse", 500, 302, "RequestHandler Not Found")
		case s.overload:
			return refused("NamingFuzzyWatchResponse", 500, 50310, "fuzzy watch pattern over limit")
		}
		k.patterns[r.GroupKeyPattern] = true
		return answer("NamingFuzzyWatchResponse", map[string]any{})
	case "ConfigQueryRequest":
		content, ok := s.configs[key]
		if !ok {
			return refused("ConfigQueryResponse", 500, 300, "config data not exist")
		}
		return answer("ConfigQueryResponse", map[string]any{"content": content, "md5": sum(content), "contentType": "text"})
	case "ConfigPublishRequest":
		old, ok := s.configs[key]
		if r.CasMD5 != "" && ok && sum(old) != r.CasMD5 {
			return refused("ConfigPublishResponse", 500, 500, "Cas publish fail,server md5 may have changed.")
		}
		if strings.TrimSpace(r.Content) == "" {
			return refused("ErrorResponse", 500, 500, "content is blank")
		}
		s.configs[key] = r.Content
		s.configChangedLocked(key)
		return answer("ConfigPublishResponse", map[string]any{})
	case "ConfigRemoveRequest":
		delete(s.configs, key)
		s.configChangedLocked(key)
		return answer("ConfigRemoveResponse", map[string]any{})
	case "ConfigBatchListenRequest":
		changed := []map[string]any{}
		for _, c := range r.Contexts {
			key := configKey{c.Tenant, c.Group, c.DataID}
			if !r.Listen {
				delete(k.listens, key)
				continue
			}
			k.listens[key] = c.MD5
			md5 := ""
			if content, ok := s.configs[key]; ok {
				md5 = sum(content)
			}
			if md5 != c.MD5 {
				changed = append(changed, map[string]any{"group": c.Group, "dataId": c.DataID, "tenant": c.Tenant})
			}
		}
		return answer("ConfigChangeBatchListenResponse", map[string]any{"changedConfigs": changed})
	}
	return refused("ErrorResponse", 500, 302, "RequestHandler Not Found")
}

func sum(content string) string {
	h := md5.Sum([]byte(content))
	return hex.EncodeToString(h[:])
}

func (s *Server) configChangedLocked(key configKey) {
	for k := range s.clients {
		if _, ok := k.listens[key]; ok {
			go s.push(k, "ConfigChangeNotifyRequest", map[string]any{"dataId": key.dataID, "group": key.group, "tenant": key.tenant})
		}
	}
}

// listLocked makes list the list of k under svc.
func (s *Server) listLocked(k *client, svc Service, list []Instance, kind string) *payload.Payload {
	if svc.Group == "" || svc.Name == "" {
		return refused("ErrorResponse", 500, 500, "Param 'groupName' is illegal, groupName is blank")
	}
	for _, i := range list {
		n := 0
		for a, b := range i.Metadata {
			n += len(a) + len(b)
		}
		if s.opts.MetadataLimit > 0 && n > s.opts.MetadataLimit {
			return refused(kind, 500, 400, "Param check invalid:Param 'Metadata' is illegal, the param length should not exceed %d.", s.opts.MetadataLimit)
		}
	}
	if len(list) == 0 {
		if _, ok := k.lists[svc]; !ok {
			return answer(kind, map[string]any{})
		}
		delete(k.lists, svc)
	} else {
		k.lists[svc] = list
		s.nameLocked(svc)
	}
	s.changedLocked(svc)
	return answer(kind, map[string]any{})
}

// changedForLocked is the push that a subscription causes.
func (s *Server) changedForLocked(k *client, svc Service) {
	time.AfterFunc(s.opts.PushDelay, func() {
		s.set(func() { s.refreshLocked(svc) })
		s.tell(k, svc)
	})
}

// streamed handles the stream of a client.
func (s *Server) streamed(_ any, stream grpc.ServerStream) error {
	k := stream.Context().Value(clientKey{}).(*client)
	for {
		var in payload.Payload
		if err := stream.RecvMsg(&in); err != nil {
			return err
		}
		var head struct {
			RequestID    string           `json:"requestId"`
			AbilityTable *map[string]bool `json:"abilityTable"`
		}
		if err := json.Unmarshal(in.Body, &head); err != nil {
			return err
		}
		if in.Type == "ConnectionSetupRequest" {
			s.mu.Lock()
			s.calls = append(s.calls, Call{Type: in.Type, Headers: in.Headers})
			mute := s.mute
			if !mute {
				k.ready, k.stream = true, stream
			}
			s.mu.Unlock()
			if head.AbilityTable != nil && !s.opts.Old && !mute {
				raw, _ := json.Marshal(map[string]any{"abilityTable": map[string]bool{"supportPersistentInstanceByGrpc": true, "fuzzyWatch": s.opts.FuzzyWatch}})
				k.sending.Lock()
				err := stream.SendMsg(&payload.Payload{Type: "SetupAckRequest", Body: raw})
				k.sending.Unlock()
				if err != nil {
					return err
				}
			}
			continue
		}
		s.mu.Lock()
		if acked, ok := k.unacked[head.RequestID]; ok {
			close(acked)
			delete(k.unacked, head.RequestID)
		}
		s.mu.Unlock()
	}
}

// routes are the few HTTP calls that there are.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	login := func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("username") != s.opts.User || r.FormValue("password") != s.opts.Password {
			http.Error(w, "unknown user!", http.StatusForbidden)
			return
		}
		token := fmt.Sprint("token-", s.ids.Add(1))
		s.set(func() { s.tokens[token] = time.Now().Add(s.opts.TokenTTL) })
		_ = json.NewEncoder(w).Encode(map[string]any{"accessToken": token, "tokenTtl": int(s.opts.TokenTTL.Seconds()), "globalAdmin": true})
	}
	configs := func(w http.ResponseWriter, r *http.Request) {
		items := []map[string]any{}
		s.mu.Lock()
		for k := range s.configs {
			if k.tenant == r.FormValue("tenant") && k.group == r.FormValue("group") {
				items = append(items, map[string]any{"dataId": k.dataID, "group": k.group, "tenant": k.tenant})
			}
		}
		s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"totalCount": len(items), "pageNumber": 1, "pagesAvailable": 1, "pageItems": items})
	}
	state := func(w http.ResponseWriter, _ *http.Request) {
		version := "2.3.2"
		switch {
		case s.opts.Old:
			version = "2.1.0"
		case s.opts.FuzzyWatch:
			version = "3.1.0"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"version": version, "standalone_mode": "standalone"})
	}
	if !s.opts.FuzzyWatch {
		mux.HandleFunc("POST /nacos/v1/auth/users/login", login)
		mux.HandleFunc("GET /nacos/v1/cs/configs", configs)
		mux.HandleFunc("GET /nacos/v1/console/server/state", state)
		return mux
	}
	mux.HandleFunc("POST /nacos/v3/auth/user/login", login)
	mux.HandleFunc("GET /nacos/v3/admin/core/state", state)
	mux.HandleFunc("GET /nacos/v3/admin/cs/config/list", func(w http.ResponseWriter, r *http.Request) {
		items := []map[string]any{}
		s.mu.Lock()
		for k := range s.configs {
			if (k.tenant == r.FormValue("namespaceId") || k.tenant == "" && r.FormValue("namespaceId") == "public") && k.group == r.FormValue("groupName") {
				items = append(items, map[string]any{"dataId": k.dataID, "groupName": k.group, "namespaceId": "public"})
			}
		}
		s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"code": 0, "data": map[string]any{"totalCount": len(items), "pageNumber": 1, "pagesAvailable": 1, "pageItems": items}})
	})
	return mux
}

// Expire makes all tokens invalid.
func (s *Server) Expire() { s.set(func() { clear(s.tokens) }) }
