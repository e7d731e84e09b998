package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"dubbo.apache.org/dubbo-go/v3/server"
)

// GreetProvider answers with the port it listens on.
type GreetProvider struct{ port int }

// Greet is the service's only method.
func (p *GreetProvider) Greet(_ context.Context, name string) (string, error) {
	return fmt.Sprintf("hello-%s from %d", name, p.port), nil
}

// Reference is the service's interface.
func (p *GreetProvider) Reference() string { return greetInterface }

func provider(options map[string]string) error {
	ins, err := instance(options, protocolAt(options))
	if err != nil {
		return err
	}
	srv, err := ins.NewServer()
	if err != nil {
		return err
	}
	if err := srv.RegisterService(&GreetProvider{port: portOf(options)}, server.WithInterface(greetInterface)); err != nil {
		return err
	}
	go func() {
		if err := srv.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}()
	for {
		conn, err := net.Dial("tcp", net.JoinHostPort(options["host"], options["port"]))
		if err == nil {
			conn.Close()
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	say("READY provider %s pid %d", options["port"], os.Getpid())
	go commands(nil)
	select {}
}
