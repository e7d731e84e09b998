// Command app is a dubbo-go application, as a user would write it: "provider" or
// "consumer", then options as key=value (zookeeper, app, host, port, group). It
// speaks the line protocol of the compat tests.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/logger"
	"dubbo.apache.org/dubbo-go/v3/protocol"
	"dubbo.apache.org/dubbo-go/v3/registry"
)

const greetInterface = "com.example.demo.GreetService"

func main() {
	options := map[string]string{}
	for _, arg := range os.Args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		options[key] = value
	}
	run := map[string]func(map[string]string) error{"provider": provider, "consumer": consumer}[os.Args[1]]
	if err := run(options); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// instance is what provider and consumer have in common: registration by
// interface only, at ZooKeeper.
func instance(options map[string]string, more ...dubbo.InstanceOption) (*dubbo.Instance, error) {
	return dubbo.NewInstance(append([]dubbo.InstanceOption{
		dubbo.WithName(options["app"]),
		dubbo.WithRegistry(
			registry.WithZookeeper(),
			registry.WithAddress(options["zookeeper"]),
			registry.WithRegisterInterface(),
		),
		dubbo.WithLogger(logger.WithLevel("warn")),
	}, more...)...)
}

// commands runs a command a line until "exit", then ends as dubbo-go does on
// SIGTERM.
func commands(known map[string]func()) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() && in.Text() != "exit" {
		if command, ok := known[in.Text()]; ok {
			command()
		} else {
			say("ERROR no such command: %s", in.Text())
		}
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
}

func portOf(options map[string]string) int {
	port, _ := strconv.Atoi(options["port"])
	return port
}

func protocolAt(options map[string]string) dubbo.InstanceOption {
	return dubbo.WithProtocol(protocol.WithTriple(), protocol.WithIp(options["host"]), protocol.WithPort(portOf(options)))
}
