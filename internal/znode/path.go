package znode

import (
	"strconv"
	"strings"
)

// validPath reports whether a node may have this path (PathUtils.validatePath).
// Ranging over bytes that are not UTF-8 yields U+FFFD, which is rejected too.
func validPath(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	if path == "/" {
		return true
	}
	for _, r := range path {
		switch {
		case r <= 0x1f, r >= 0x7f && r <= 0x9f, r >= 0xd800 && r <= 0xf8ff, r >= 0xfff0:
			return false // r > 0xffff: Java sees surrogates
		}
	}
	for rest := path[1:]; ; {
		part, after, more := strings.Cut(rest, "/")
		if part == "" || part == "." || part == ".." {
			return false
		}
		if !more {
			return true
		}
		rest = after
	}
}

// parentPath is the path of the directory of path, which is valid and not the
// root.
func parentPath(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// sequenced appends the create counter as ZooKeeper does: ten digits, a minus
// sign counted among them ("%010d").
func sequenced(path string, counter int32) string {
	sign, n := "", int64(counter)
	width := 10
	if n < 0 {
		sign, n, width = "-", -n, 9
	}
	digits := strconv.FormatInt(n, 10)
	return path + sign + "0000000000"[:max(0, width-len(digits))] + digits
}

// systemPath reports whether path is one of the four nodes that always exist.
func systemPath(path string) bool {
	switch path {
	case "/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config":
		return true
	}
	return false
}
