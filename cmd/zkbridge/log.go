package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zkbridge/internal/bridge"
)

func logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Look into the log of a data directory",
		Long: `The log keeps nodes, sessions and everything that changes them. Both commands only
read, and may be used beside a bridge that runs on the directory: its last write
can look cut off then.`,
	}
	verify := &cobra.Command{
		Use: "verify DIR", Short: "Check every record, and say what the next start would make of it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := bridge.InspectLog(args[0], nil)
			if err != nil {
				return err
			}
			tellReport(cmd.OutOrStdout(), report)
			return nil
		},
	}
	var from string
	dump := &cobra.Command{
		Use: "dump DIR", Short: "Print every record: place in the file, zxid, time, effects", Args: cobra.ExactArgs(1),
		Example: `  zkbridge log dump data
  zkbridge log dump data --from 0x1f4`,
		RunE: func(cmd *cobra.Command, args []string) error {
			first, err := strconv.ParseInt(from, 0, 64)
			if err != nil {
				return fmt.Errorf("--from %s is no zxid, such as 500 or 0x1f4", from)
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			_, err = bridge.InspectLog(args[0], func(r bridge.LogRecord) error { return tellRecord(out, r, first) })
			if flushed := out.Flush(); err == nil {
				err = flushed
			}
			return err
		},
	}
	dump.Flags().StringVar(&from, "from", "0", "leave out transactions before this zxid, and everything else")
	cmd.AddCommand(verify, dump)
	return cmd
}

func tellReport(out io.Writer, r bridge.LogReport) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say("%s: format %d, %d bytes in %d writes, every record can be read.", r.File, r.Format, r.Size, r.Frames)
	if r.Torn > 0 {
		say("The last %d bytes are a write that was cut off, or is under way; a start leaves them out. Nobody was told that it is on disk.", r.Torn)
	}
	say("Cluster %s, incarnation %d, last zxid 0x%x; %d transactions behind the snapshot.", r.ClusterID, r.Incarnation, r.Zxid, r.Transactions)
	say("%d nodes, %d of them ephemeral, %d held; %d sessions.", r.Nodes, r.Ephemerals, r.Held, r.Sessions)
	if r.Whole {
		say("A start here and now resumes the sessions: %s.", r.Why)
	} else {
		say("A start here and now ends the sessions and holds their providers: %s.", r.Why)
	}
}

func tellRecord(out io.Writer, r bridge.LogRecord, first int64) error {
	if len(r.Txn.Effects) == 0 && r.Kind != "transaction" {
		if first > 0 {
			return nil
		}
		_, err := fmt.Fprintf(out, "@%d %s\n", r.Offset, strings.TrimSpace(r.Kind+" "+r.Text))
		return err
	}
	if r.Txn.Zxid < first {
		return nil
	}
	part := "zxid"
	if r.Snapshot {
		part = "snapshot, zxid"
	}
	if _, err := fmt.Fprintf(out, "@%d %s 0x%x %s\n", r.Offset, part, r.Txn.Zxid, time.UnixMilli(r.Txn.Time).UTC().Format("2006-01-02T15:04:05.000Z")); err != nil {
		return err
	}
	for _, e := range r.Txn.Effects {
		if _, err := fmt.Fprintf(out, "    %v\n", e); err != nil {
			return err
		}
	}
	return nil
}
