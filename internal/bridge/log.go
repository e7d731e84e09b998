package bridge

import "zkbridge/internal/znode"

// LogReport is what the log of a data directory says of itself.
type LogReport = znode.Report

// LogRecord is one record of a log.
type LogRecord = znode.Record

// InspectLog reads the log in a data directory and changes nothing. visit, which
// may be nil, is called for each record.
func InspectLog(dir string, visit func(LogRecord) error) (LogReport, error) {
	return znode.Inspect(dir, visit)
}
