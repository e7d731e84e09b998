package bridge

import "context"

type nobinding struct{}

func (nobinding) Ready() (bool, string)         { return true, "" }
func (nobinding) Run(ctx context.Context) error { <-ctx.Done(); return nil }
func (nobinding) String() string                { return "" }
