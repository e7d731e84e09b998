package adminserver

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zkbridge/internal/server"
)

// commands are those of a standalone server, but for snapshot and restore.
var commands = []command{
	{names: []string{"configuration", "conf", "config"}, answer: configuration},
	{names: []string{"connections", "cons"}, answer: connections},
	{names: []string{"connection_stat_reset", "crst"}, answer: func(cfg *Config, _ url.Values) (object, string) {
		cfg.Server.ResetConnections()
		return nil, ""
	}},
	{names: []string{"dirs"}, answer: dirs},
	{names: []string{"dump"}, answer: dump},
	{names: []string{"environment", "env", "envi"}, always: true, answer: environment},
	{names: []string{"get_trace_mask", "gtmk"}, always: true, answer: traceMask},
	{names: []string{"set_trace_mask", "stmk"}, always: true, answer: setTraceMask},
	{names: []string{"hash"}, answer: func(*Config, url.Values) (object, string) {
		return object{{"digests", list{}}}, "" // none are kept
	}},
	{names: []string{"initial_configuration", "icfg"}, answer: func(cfg *Config, _ url.Values) (object, string) {
		return object{{"initial_configuration", cfg.Initial}}, ""
	}},
	{names: []string{"is_read_only", "isro"}, answer: func(*Config, url.Values) (object, string) {
		return object{{"read_only", false}}, ""
	}},
	{names: []string{"last_snapshot", "lsnp"}, answer: lastSnapshot},
	{names: []string{"leader", "lead"}, answer: func(*Config, url.Values) (object, string) {
		return nil, "server is not initialized" // as standalone servers say
	}},
	{names: []string{"monitor", "mntr"}, answer: monitor},
	{names: []string{"observer_connection_stat_reset", "orst"}, answer: func(*Config, url.Values) (object, string) { return nil, "" }},
	{names: []string{"observers", "obsr"}, answer: func(*Config, url.Values) (object, string) {
		return object{{"synced_observers", 0}, {"observers", list{}}}, ""
	}},
	{names: []string{"ruok"}, always: true, answer: func(*Config, url.Values) (object, string) { return nil, "" }},
	{names: []string{"server_stats", "srvr"}, answer: func(cfg *Config, _ url.Values) (object, string) { return serverStats(cfg), "" }},
	{names: []string{"stats", "stat"}, answer: stats},
	{names: []string{"stat_reset", "srst"}, answer: func(cfg *Config, _ url.Values) (object, string) {
		cfg.Server.ResetStats()
		return nil, ""
	}},
	{names: []string{"system_properties", "sysp"}, always: true, answer: systemProperties},
	{names: []string{"voting_view"}, answer: func(*Config, url.Values) (object, string) {
		return object{{"current_config", object{}}}, ""
	}},
	{names: []string{"watches", "wchc"}, answer: watches},
	{names: []string{"watches_by_path", "wchp"}, answer: watchesByPath},
	{names: []string{"watch_summary", "wchs"}, answer: watchSummary},
	{names: []string{"zabstate"}, answer: func(*Config, url.Values) (object, string) {
		return object{{"voting", false}, {"zabstate", ""}}, ""
	}},
}

// settings are conf's by their keys.
func settings(cfg *Config) map[string]any {
	by := make(map[string]any)
	for _, s := range cfg.Server.Settings() {
		by[s.Key] = s.Value
	}
	return by
}

func configuration(cfg *Config, _ url.Values) (object, string) {
	by := settings(cfg)
	data := object{{"client_port", by["clientPort"]}}
	if by["secureClientPort"] != -1 {
		data = append(data, member{"secure_client_port", by["secureClientPort"]})
	}
	return append(data, object{
		{"data_dir", by["dataDir"]},
		{"data_log_dir", by["dataLogDir"]},
		{"tick_time", by["tickTime"]},
		{"max_client_cnxns", by["maxClientCnxns"]},
		{"min_session_timeout", by["minSessionTimeout"]},
		{"max_session_timeout", by["maxSessionTimeout"]},
		{"server_id", by["serverId"]},
		{"client_port_listen_backlog", by["clientPortListenBacklog"]},
	}...), ""
}

func dirs(cfg *Config, _ url.Values) (object, string) {
	by := settings(cfg)
	return object{{"datadir_size", by["dataDirSize"]}, {"logdir_size", by["dataLogSize"]}}, ""
}

// connectionLists are the connections, those without TLS first.
func connectionLists(cfg *Config, brief bool) object {
	plain, secure := list{}, list{}
	for _, r := range cfg.Server.Connections() {
		if r.Secure {
			secure = append(secure, connection(cfg, r, brief))
		} else {
			plain = append(plain, connection(cfg, r, brief))
		}
	}
	return object{{"connections", plain}, {"secure_connections", secure}}
}

func connection(cfg *Config, r server.ConnectionReport, brief bool) object {
	o := object{
		{"remote_socket_address", r.Address},
		{"interest_ops", 1},
		{"outstanding_requests", 0},
		{"packets_received", r.Received},
		{"packets_sent", r.Sent},
	}
	if brief {
		return o
	}
	return append(o, object{
		{"session_id", r.Session},
		{"last_operation", r.Operation},
		{"established", r.Established.UnixMilli()},
		{"session_timeout", r.Timeout.Milliseconds()},
		{"last_cxid", r.Xid},
		{"last_zxid", r.Zxid},
		{"last_response_time", cfg.Server.Monotonic(r.LastResponse)},
		{"last_latency", r.Last.Milliseconds()},
		{"min_latency", r.Min.Milliseconds()},
		{"avg_latency", r.Average.Milliseconds()},
		{"max_latency", r.Max.Milliseconds()},
	}...)
}

func connections(cfg *Config, _ url.Values) (object, string) { return connectionLists(cfg, false), "" }

// values makes a list of any slice.
func values[T any](from []T) list {
	l := make(list, len(from))
	for i, v := range from {
		l[i] = v
	}
	return l
}

// bySession is an object with session ids, as numbers, for keys.
func bySession(m map[int64][]string) object {
	o := object{}
	for _, session := range slices.SortedFunc(maps.Keys(m), func(a, b int64) int { return cmp.Compare(uint64(a), uint64(b)) }) {
		o = append(o, member{strconv.FormatInt(session, 10), values(m[session])})
	}
	return o
}

func dump(cfg *Config, _ url.Values) (object, string) {
	due := cfg.Server.SessionsByExpiry()
	expiry := object{}
	for _, at := range slices.SortedFunc(maps.Keys(due), time.Time.Compare) {
		expiry = append(expiry, member{strconv.FormatInt(cfg.Server.Monotonic(at), 10), values(due[at])})
	}
	return object{
		{"expiry_time_to_session_ids", expiry},
		{"session_id_to_ephemeral_paths", bySession(cfg.Server.EphemeralsByOwner())},
	}, ""
}

func environment(cfg *Config, _ url.Values) (object, string) {
	o := object{}
	for _, s := range cfg.Server.Environment() {
		o = append(o, member{s.Key, s.Value})
	}
	return o, ""
}

// systemProperties has what envi tells, sorted: there are no others.
func systemProperties(cfg *Config, _ url.Values) (object, string) {
	o, _ := environment(cfg, nil)
	o = slices.DeleteFunc(o, func(m member) bool { return strings.HasPrefix(m.key, "os.memory.") || m.key == "host.name" })
	slices.SortFunc(o, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	return o, ""
}

func traceMask(cfg *Config, _ url.Values) (object, string) {
	return object{{"tracemask", cfg.Server.TraceMask()}}, ""
}

func setTraceMask(cfg *Config, query url.Values) (object, string) {
	mask, err := strconv.ParseInt(query.Get("traceMask"), 10, 64)
	if err != nil {
		return nil, "setTraceMask requires long traceMask argument"
	}
	cfg.Server.SetTraceMask(mask)
	return traceMask(cfg, nil)
}

func lastSnapshot(cfg *Config, _ url.Values) (object, string) {
	zxid := cfg.Snapshot()
	return object{{"zxid", strconv.FormatUint(uint64(zxid), 16)}, {"timestamp", time.Now().Unix()}}, ""
}

func monitor(cfg *Config, _ url.Values) (object, string) {
	o := object{{"version", cfg.Server.Version()}, {"server_state", "standalone"}}
	for _, m := range cfg.Server.Monitor() {
		for _, f := range m.Flat() {
			o = append(o, member{f.Name, number(f)})
		}
	}
	return o, ""
}

func number(m server.Measure) any {
	if m.Fraction {
		return double(m.Value)
	}
	return int64(m.Value)
}

// bufferStats says that the sizes of responses are not measured, as ZooKeeper
// does before the first.
var bufferStats = object{{"last_buffer_size", -1}, {"min_buffer_size", -1}, {"max_buffer_size", -1}}

func serverStats(cfg *Config) object {
	by, of := settings(cfg), make(map[string]any)
	for _, m := range cfg.Server.Monitor() {
		of[m.Name] = number(m)
	}
	return object{
		{"version", cfg.Server.Version()},
		{"read_only", false},
		{"server_stats", object{
			{"packets_sent", of["packets_sent"]},
			{"packets_received", of["packets_received"]},
			{"fsync_threshold_exceed_count", 0},
			{"client_response_stats", bufferStats},
			{"provider_null", false},
			{"data_dir_size", by["dataDirSize"]},
			{"log_dir_size", by["dataLogSize"]},
			{"last_processed_zxid", cfg.Server.Zxid()},
			{"outstanding_requests", of["outstanding_requests"]},
			{"server_state", "standalone"},
			{"avg_latency", of["avg_latency"]},
			{"max_latency", of["max_latency"]},
			{"min_latency", of["min_latency"]},
			{"num_alive_client_connections", of["num_alive_connections"]},
			{"uptime", of["uptime"]},
			{"auth_failed_count", of["auth_failed_count"]},
			{"non_mtlsremote_conn_count", of["non_mtls_remote_conn_count"]},
			{"non_mtlslocal_conn_count", of["non_mtls_local_conn_count"]},
		}},
		{"client_response", bufferStats},
		{"node_count", of["znode_count"]},
	}
}

func stats(cfg *Config, _ url.Values) (object, string) {
	return append(serverStats(cfg), connectionLists(cfg, true)...), ""
}

func watches(cfg *Config, _ url.Values) (object, string) {
	return object{{"session_id_to_watched_paths", bySession(cfg.Server.PathsWatched())}}, ""
}

func watchesByPath(cfg *Config, _ url.Values) (object, string) {
	by, o := cfg.Server.SessionsWatching(), object{}
	for _, path := range slices.Sorted(maps.Keys(by)) {
		o = append(o, member{path, values(by[path])})
	}
	return object{{"path_to_session_ids", o}}, ""
}

func watchSummary(cfg *Config, _ url.Values) (object, string) {
	w := cfg.Server.WatchSummary()
	return object{{"num_connections", w.Connections}, {"num_paths", w.Paths}, {"num_total_watches", w.Watches}}, ""
}
