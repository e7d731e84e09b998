// Package translate turns znode paths into service instances and back, one
// layout for each way in which a family of applications writes itself into
// ZooKeeper. Everything here is a pure function of its arguments.
//
// The layout dubbo is the interface level of Dubbo: a provider is the ephemeral
// node <root>/<interface>/providers/<escaped URL>, and in the registry an
// instance of the service providers:<interface>:<version>:<group>, with the
// metadata that Dubbo's own Nacos registry would write. Its rules of Dubbo 2.6
// stay on ZooKeeper's side; RuleAt reads them.
//
// The layouts dubbo-app, springcloud and curator are instances of Curator's
// x-discovery: <root>/<service>/<id>, the instance as JSON, whose payload class
// tells the families apart. Where they share a root, with each other or with
// dubbo, Among decides for each child and AmongInstance for each instance of the
// registry.
//
// What else Dubbo keeps below a root are documents: configuration, the mapping
// of interfaces to applications, metadata. DocumentAt and DocumentsOf translate
// between their paths, which differ by generation, and the keys under which
// natives keep them in a registry's store.
//
// A znode name is never changed on its way: clients delete exactly the bytes
// that they created. What is published carries a short fingerprint of the name
// (see Marker), so that a bridge can tell whether the name that it rebuilds from
// the instance is the very name, or whether only the stored one is exact.
package translate
