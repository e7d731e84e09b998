// Package server starts real Nacos 2.3.2 servers, alone or several as a
// cluster, from jars that Maven fetches.
package server
