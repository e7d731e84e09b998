package zkproto

// WatcherEvent is the body of a notification: a watched node changed. Its reply
// header carries XidNotification and the zxid of the change (-1 for what
// setWatches catches up on, and from servers before 3.9).
type WatcherEvent struct {
	Type  EventType
	State State // StateSyncConnected
	Path  string
}

// Decode reads a notification.
func (m *WatcherEvent) Decode(body []byte) error {
	r := reader{src: body}
	m.Type = EventType(r.int32())
	m.State = State(r.int32())
	m.Path = r.string()
	return r.done("watcher event")
}

// AppendTo appends the notification.
func (m *WatcherEvent) AppendTo(dst []byte) []byte {
	dst = appendInt32(dst, int32(m.Type))
	dst = appendInt32(dst, int32(m.State))
	return appendString(dst, m.Path)
}
