// Command zkbridge is a server that speaks the ZooKeeper wire protocol and keeps
// a service registry in step with what its clients register.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "zkbridge:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "zkbridge",
		Short: "A ZooKeeper server for service discovery, bound to a service registry",
		Long: `zkbridge speaks the ZooKeeper wire protocol to unmodified Dubbo, Curator and
Spring Cloud applications and keeps a service registry in step with them: their
ephemeral provider nodes become registry instances, and instances registered
natively become nodes that they see.

  zkbridge demo          what it does, in ten seconds
  zkbridge serve         run a bridge on its embedded defaults
  zkbridge explain PATH  what a path is, and why it is or is not in a list
  zkbridge held list     what is shown although nobody vouches for it, and why`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(serveCommand(), explainCommand(), heldCommand(), logCommand(), registryCommand(), demoCommand(), benchCommand(), configCommand(), versionCommand())
	return cmd
}
