package nacos

import (
	"encoding/json"
	"fmt"

	rc "zkbridge/registryclient"
)

// The JSON bodies, with the names of Nacos's Java classes as types. A field
// that Nacos may add is ignored.

// serviceFields is what every request about services has.
type serviceFields struct {
	Namespace   string `json:"namespace"`
	ServiceName string `json:"serviceName,omitempty"`
	GroupName   string `json:"groupName,omitempty"`
	Module      string `json:"module"` // naming
}

func fieldsOf(s rc.Service) serviceFields {
	return serviceFields{Namespace: s.Namespace, ServiceName: s.Name, GroupName: s.Group, Module: "naming"}
}

type connectionSetupRequest struct {
	ClientVersion string            `json:"clientVersion"`
	Tenant        string            `json:"tenant"`
	Labels        map[string]string `json:"labels"`
	AbilityTable  map[string]bool   `json:"abilityTable"` // not null: else there is no SetupAckRequest
}

type instanceRequest struct {
	serviceFields
	Type     string   `json:"type"` // registerInstance, deregisterInstance
	Instance instance `json:"instance"`
}

type batchInstanceRequest struct {
	serviceFields
	Type      string            `json:"type"` // batchRegisterInstance
	Instances []json.RawMessage `json:"instances"`
}

type subscribeServiceRequest struct {
	serviceFields
	Subscribe bool   `json:"subscribe"`
	Clusters  string `json:"clusters"`
}

type serviceQueryRequest struct {
	serviceFields
	Cluster     string `json:"cluster"`
	HealthyOnly bool   `json:"healthyOnly"`
	UDPPort     int    `json:"udpPort"`
}

type serviceListRequest struct {
	serviceFields
	PageNo   int    `json:"pageNo"`
	PageSize int    `json:"pageSize"`
	Selector string `json:"selector"`
}

type namingFuzzyWatchRequest struct {
	Namespace         string   `json:"namespace"`
	Module            string   `json:"module"`
	GroupKeyPattern   string   `json:"groupKeyPattern"` // namespace>>group>>service
	ReceivedGroupKeys []string `json:"receivedGroupKeys"`
	WatchType         string   `json:"watchType"` // WATCH, CANCEL_WATCH
	Initializing      bool     `json:"initializing"`
}

// configFields is what every request about configurations has.
type configFields struct {
	DataID string `json:"dataId"`
	Group  string `json:"group"`
	Tenant string `json:"tenant"` // "" is public
	Module string `json:"module"` // config
}

type configPublishRequest struct {
	configFields
	Content     string            `json:"content"`
	CasMD5      string            `json:"casMd5,omitempty"`
	AdditionMap map[string]string `json:"additionMap,omitempty"`
}

type configListenContext struct {
	Group  string `json:"group"`
	MD5    string `json:"md5"`
	DataID string `json:"dataId"`
	Tenant string `json:"tenant"`
}

type configBatchListenRequest struct {
	Module   string                `json:"module"`
	Listen   bool                  `json:"listen"`
	Contexts []configListenContext `json:"configListenContexts"`
}

// instance is an instance as Nacos writes it.
type instance struct {
	InstanceID  string            `json:"instanceId,omitempty"`
	IP          string            `json:"ip"`
	Port        int               `json:"port"`
	Weight      float64           `json:"weight"`
	Healthy     bool              `json:"healthy"`
	Enabled     bool              `json:"enabled"`
	Ephemeral   bool              `json:"ephemeral"`
	ClusterName string            `json:"clusterName"`
	ServiceName string            `json:"serviceName,omitempty"`
	Metadata    map[string]string `json:"metadata"`
}

// wireInstance gives i as it is published. The cluster is always sent, because
// servers make no two records one whose cluster is given differently, and the keys
// of metadata are sorted, for the same reason (encoding/json sorts them).
func wireInstance(i rc.Instance) instance {
	w := instance{
		IP: i.IP, Port: i.Port, Weight: i.Weight, Healthy: i.Healthy, Enabled: i.Enabled, Ephemeral: true,
		ClusterName: i.Cluster, Metadata: i.Metadata,
	}
	if w.ClusterName == "" {
		w.ClusterName = "DEFAULT"
	}
	if w.Metadata == nil {
		w.Metadata = map[string]string{}
	}
	return w
}

func (w instance) instance() rc.Instance {
	return rc.Instance{
		IP: w.IP, Port: w.Port, Cluster: w.ClusterName, Weight: w.Weight, Enabled: w.Enabled, Healthy: w.Healthy, Metadata: w.Metadata,
	}
}

// UnmarshalJSON fills in what a server leaves out.
func (w *instance) UnmarshalJSON(data []byte) error {
	type plain instance
	p := plain{Weight: 1, Healthy: true, Enabled: true, Ephemeral: true}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*w = instance(p)
	return nil
}

type serviceInfo struct {
	Name        string     `json:"name"`
	GroupName   string     `json:"groupName"`
	Hosts       []instance `json:"hosts"`
	LastRefTime int64      `json:"lastRefTime"` // ms, the server's clock
	Protected   bool       `json:"reachProtectionThreshold"`
}

// response is what all answers have.
type response struct {
	ResultCode int    `json:"resultCode"` // 200, else it is refused
	ErrorCode  int    `json:"errorCode"`
	Message    string `json:"message"`
	RequestID  string `json:"requestId"`
}

// answer is the union of the answers that are read.
type answer struct {
	response
	// ServerCheckResponse
	ConnectionID              string `json:"connectionId"`
	SupportAbilityNegotiation bool   `json:"supportAbilityNegotiation"`
	// SubscribeServiceResponse, QueryServiceResponse
	ServiceInfo *serviceInfo `json:"serviceInfo"`
	// ServiceListResponse
	Count        int      `json:"count"`
	ServiceNames []string `json:"serviceNames"`
	// ConfigQueryResponse
	Content string `json:"content"`
	MD5     string `json:"md5"`
	// ConfigChangeBatchListenResponse
	ChangedConfigs []configListenContext `json:"changedConfigs"`
}

// push is the union of what a server sends by itself.
type push struct {
	RequestID string `json:"requestId"`
	// NotifySubscriberRequest
	ServiceInfo *serviceInfo `json:"serviceInfo"`
	// ConnectResetRequest; the port is a string in some versions
	ServerIP   string          `json:"serverIp"`
	ServerPort json.RawMessage `json:"serverPort"`
	// SetupAckRequest
	AbilityTable map[string]bool `json:"abilityTable"`
	// ConfigChangeNotifyRequest
	DataID string `json:"dataId"`
	Group  string `json:"group"`
	Tenant string `json:"tenant"`
}

// Codes of Nacos's answers.
const (
	codeServerStarting = 300
	codeUnregistered   = 301 // the server does not know this connection
	codeNoHandler      = 302
	codeDisconnected   = -401 // nor does its naming part
	codeBadRequest     = 400
	codeForbidden      = 403
	codeUnauthorized   = 401
	codeNotFound       = 300 // of ConfigQueryResponse
	codeConflict       = 400 // of ConfigQueryResponse: the configuration is being changed
)

// refusal is an answer that says no.
type refusal struct {
	response
	in string // type of the answer
}

func (r *refusal) Error() string {
	return fmt.Sprintf("Nacos answers %d/%d: %s", r.ResultCode, r.ErrorCode, r.Message)
}

// is tells whether either code is one of codes: versions differ in which
// carries it.
func (r *refusal) is(codes ...int) bool {
	for _, c := range codes {
		if r.ErrorCode == c || r.ResultCode == c {
			return true
		}
	}
	return false
}

// lost tells whether the server does not know the connection (any more).
func (r *refusal) lost() bool { return r.is(codeUnregistered, codeDisconnected) }

// kind says what can be done about it.
func (r *refusal) kind() rc.Kind {
	switch {
	case r.is(codeForbidden, codeUnauthorized):
		return rc.Denied
	case r.ErrorCode == codeBadRequest || r.ErrorCode == codeNoHandler || r.ResultCode == codeBadRequest || r.ResultCode == codeNoHandler:
		return rc.Invalid
	}
	return rc.Unavailable
}
