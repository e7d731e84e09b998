package control

import (
	"context"
	"io"
	"net"
	"time"
)

// FourLetters sends a four-letter word to a ZooKeeper server and returns the
// whole answer.
func FourLetters(ctx context.Context, addr, word string) (string, error) {
	d := net.Dialer{Timeout: 2 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	body, err := io.ReadAll(conn)
	return string(body), err
}
