// Package translate turns znode paths into service instances and back, one
// layout for each way in which a family of applications writes itself into
// ZooKeeper. Everything here is a pure function of its arguments.
//
// The layout dubbo is the interface level of Dubbo: a provider is the ephemeral
// node <root>/<interface>/providers/<escaped URL>, and in the registry an
// instance of the service providers:<interface>:<version>:<group>, with the
// metadata that Dubbo's own Nacos registry would write.
//
// A znode name is never changed on its way: clients delete exactly the bytes
// that they created. What is published carries a short fingerprint of the name
// (see Marker), so that a bridge can tell whether the name that it rebuilds from
// the instance is the very name, or whether only the stored one is exact.
package translate
