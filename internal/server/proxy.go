package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
)

// proxySignature begins a PROXY protocol v2 header.
var proxySignature = []byte("\r\n\r\n\x00\r\nQUIT\n")

var (
	errProxyV1   = errors.New("this is a PROXY protocol v1 header: set the load balancer to version 2")
	errProxyNone = errors.New("no PROXY protocol v2 header came first, which this listener requires (proxyProtocol)")
)

// readProxyHeader reads a PROXY protocol v2 header
// (haproxy.org, proxy-protocol.txt, section 2.2), and not a byte more. It returns
// the client's address; none if the connection is the proxy's own (LOCAL, a
// health check) or not of the internet: then the socket's own address counts.
func readProxyHeader(r io.Reader) (client netip.AddrPort, err error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return client, err
	}
	for n := 1; n < len(proxySignature); { // refuse as soon as it is known, not when more has come
		k, err := r.Read(head[n:len(proxySignature)])
		if n += k; !bytes.HasPrefix(proxySignature, head[:n]) {
			if head[0] == 'P' {
				return client, errProxyV1
			}
			return client, errProxyNone
		}
		if err != nil && n < len(proxySignature) {
			return client, within(err)
		}
	}
	if _, err := io.ReadFull(r, head[len(proxySignature):]); err != nil {
		return client, within(err)
	}
	version, command, family := head[12]>>4, head[12]&0xf, head[13]
	length := int(binary.BigEndian.Uint16(head[14:]))
	if version != 2 || command > 1 {
		return client, fmt.Errorf("a PROXY protocol header of version %d, command %d, is not known", version, command)
	}
	var addr [36]byte
	n := min(length, len(addr))
	if _, err := io.ReadFull(r, addr[:n]); err != nil {
		return client, within(err)
	}
	if _, err := io.CopyN(io.Discard, r, int64(length-n)); err != nil { // fields that nobody asked for
		return client, within(err)
	}
	if command == 0 {
		return client, nil
	}
	switch family {
	case 0x11: // TCP over IPv4: addresses, then ports
		if length < 12 {
			break
		}
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(addr[:4])), binary.BigEndian.Uint16(addr[8:])), nil
	case 0x21: // over IPv6
		if length < 36 {
			break
		}
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(addr[:16])).Unmap(), binary.BigEndian.Uint16(addr[32:])), nil
	case 0x00, 0x31: // unknown, or a stream over a Unix socket
		return client, nil
	}
	return client, fmt.Errorf("a PROXY protocol header with family 0x%02x and %d bytes of addresses is none of a TCP client", family, length)
}

// unintroduced counts and logs a connection without a header that can be read.
// One that ends before its first byte is a probe.
func (s *Server) unintroduced(from string, nc net.Conn, err error) {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		s.log.Debug("connection closed before its PROXY header", "peer", nc.RemoteAddr().String())
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.rejected(RejectedHandshakeTimeout)
		s.log.Debug("no PROXY header in time", "peer", nc.RemoteAddr().String())
	default:
		s.rejected(RejectedProxy)
		if s.accusers.may("proxy " + from) {
			s.log.Warn("a connection is refused: its PROXY header cannot be read", "peer", nc.RemoteAddr().String(), "error", err)
		}
	}
}
