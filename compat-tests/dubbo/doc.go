// Package dubbo runs unmodified Dubbo Java applications, 3.3.6 and 2.7.23,
// through every kind of target. The applications are in src, built by the Maven
// projects java33 and java27.
package dubbo
