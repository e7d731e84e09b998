package server

// RestAlways makes connections go on in a new goroutine after every round of
// requests, as if their clients had always been silent for long. It is called
// before the first of them.
func RestAlways(s *Server) { s.restAfter = -1 }

// ReadProxyHeader and DistinguishedName are what their tests are about.
var (
	ReadProxyHeader   = readProxyHeader
	DistinguishedName = distinguishedName
)
