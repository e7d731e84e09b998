package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/cluster/directory"
	"dubbo.apache.org/dubbo-go/v3/common"
	"dubbo.apache.org/dubbo-go/v3/common/extension"
	"dubbo.apache.org/dubbo-go/v3/protocol/invocation"
	"dubbo.apache.org/dubbo-go/v3/registry"
	registrydirectory "dubbo.apache.org/dubbo-go/v3/registry/directory"
)

// GreetClient is what the client's methods are named after; they are called
// through the connection.
type GreetClient struct{}

// Greet is never called: dubbo-go reads the names of methods only.
func (c *GreetClient) Greet(context.Context, string) (string, error) {
	return "", errors.New("not called through the connection")
}

// Reference is the service's interface.
func (c *GreetClient) Reference() string { return greetInterface }

// list is the directory of the one service that the consumer refers to.
var list struct {
	sync.Mutex
	directory.Directory
}

// keepDirectory makes dubbo-go hand its directory to us when it makes it.
func keepDirectory() {
	extension.SetDefaultRegistryDirectory(func(url *common.URL, reg registry.Registry) (directory.Directory, error) {
		d, err := registrydirectory.NewRegistryDirectory(url, reg)
		list.Lock()
		defer list.Unlock()
		list.Directory = d
		return d, err
	})
}

func addresses() []string {
	list.Lock()
	d := list.Directory
	list.Unlock()
	if d == nil {
		return nil
	}
	var all []string
	for _, invoker := range d.List(invocation.NewRPCInvocationWithOptions(invocation.WithMethodName("Greet"))) {
		if url := invoker.GetURL(); url != nil {
			all = append(all, url.Location)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// watch says the list now and whenever it changes.
func watch() {
	last := addresses()
	say("PROVIDERS %d [%s]", len(last), strings.Join(last, " "))
	for range time.Tick(2 * time.Millisecond) {
		now := addresses()
		if !slices.Equal(now, last) {
			say("PROVIDERS %d [%s]", len(now), strings.Join(now, " "))
			last = now
		}
	}
}

func consumer(options map[string]string) error {
	keepDirectory()
	ins, err := instance(options)
	if err != nil {
		return err
	}
	cli, err := ins.NewClient(client.WithClientNoCheck())
	if err != nil {
		return err
	}
	conn, err := cli.NewService(&GreetClient{})
	if err != nil {
		return err
	}
	go watch()
	say("READY consumer pid %d", os.Getpid())
	go commands(map[string]func(){"call": func() { call(conn) }})
	select {}
}

func call(conn *client.Connection) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var answer string
	if err := conn.CallUnary(ctx, []any{"you"}, &answer, "Greet"); err != nil {
		say("CALL fail %s", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	say("CALL ok %s", answer)
}
