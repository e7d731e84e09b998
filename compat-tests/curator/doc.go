// Package curator runs an unmodified Curator 5.9 application (framework,
// PersistentNode, CuratorCache) through every kind of target. The application is
// in java.
package curator
