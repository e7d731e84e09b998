package bridge

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"zkbridge/internal/config"
)

// Serve builds a bridge from cfg and runs it until ctx ends, logging to errOut.
// SIGHUP has it read its TLS files again.
func Serve(ctx context.Context, cfg config.Config, errOut io.Writer) error {
	b, err := New(cfg, Logger(cfg.Log, errOut))
	if err != nil {
		return err
	}
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	defer signal.Stop(hangUps)
	ran := make(chan error, 1)
	go func() { ran <- b.Run(ctx) }()
	for {
		select {
		case <-hangUps:
			b.Reload()
		case err := <-ran:
			return err
		}
	}
}

// Logger makes the log that cfg asks for.
func Logger(cfg config.Log, out io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{}
	var level slog.Level
	if level.UnmarshalText([]byte(cfg.Level)) == nil {
		options.Level = level
	}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}
