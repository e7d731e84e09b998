// Package nacos is the registry client for Nacos 2.1 to 3.x. It speaks the
// gRPC protocol of Nacos's own clients, of which it needs some twenty JSON
// messages, and uses HTTP only to log in and to list configurations.
//
// In Nacos an ephemeral instance lives and dies with a connection, and one
// connection holds one list a service, which is replaced as a whole. So the
// client owns a pool of connections. The list of a service lies on one of
// them, or in parts on several if it is long; a part is always published
// whole, and never twice the same. When a connection breaks, its parts and
// subscriptions are made anew on the next one, each until it stands.
//
// What a server says first after a connection was made is not believed blindly: a
// server that has just started answers with nothing. What was known before and is
// missing then is shown until the server has had Config.Settle to hear of it.
//
// # What Nacos cannot do
//
// It cannot say whose a record is, so Observed.Own is Unknown. It does not
// show disabled instances. A snapshot may be 1.8 s old, because servers push and
// tell each other with a delay. When a service has reached its protection
// threshold, the server shows all its instances as healthy, and so they are
// delivered.
package nacos
