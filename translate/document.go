package translate

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Form is the way in which a generation of Dubbo lays out a document. Several
// forms may show one document of the registry's store.
type Form uint8

const (
	FormNone          Form = iota
	FormConfig             // config/<group>/<key>
	FormConfigBare         // config/<key>: Dubbo 2.7 and 3 look for some keys outside every group
	FormMapping            // mapping/<interface>, data "app1,app2": Dubbo 3 and dubbo-go
	FormMappingChild       // mapping/<interface>/<application>: Dubbo 2.7.9 to 2.7.23
	FormMappingConfig      // config/mapping/<interface>/<application>: Dubbo 2.7.5 to 2.7.8
	FormMetadata           // metadata/<application>/<revision>: Dubbo 2.7 and 3
	FormMetadataGo         // <application>/<revision>: dubbo-go
	FormDefinition         // metadata/<interface>/[version]/[group]/<side>/<application>
	FormServiceURL         // metadata/<interface>/[version]/[group]/<side>/<protocol>/revision<revision>: Dubbo 2.7
)

const (
	metadataDir  = "metadata"
	mappingDir   = "mapping"
	configDir    = "config"
	defaultGroup = "dubbo" // of Dubbo's configuration centre and metadata report
)

// Document is a node of Dubbo's configuration centre, of its mapping from
// interfaces to applications, or of its metadata, told by its path alone. It is
// comparable. Fields that a form does not have are empty.
type Document struct {
	Kind        Kind // KindConfig, KindMapping, KindDefinition or KindMetadata
	Form        Form
	Group       string // configuration: the group; "dubbo" for a bare key
	Key         string // configuration: the key
	Interface   string // mapping, definition: unescaped
	Segment     string // the interface as it stands in the path, where that is not how Dubbo writes it
	Between     string // definition: the segments for version and group, unescaped, joined by "/"; blank and equal ones are left out of a path
	Side        string // definition: "provider" or "consumer"
	Protocol    string // service URL
	Application string // the children of a mapping, metadata, definition
	Revision    string // metadata, service URL
}

// StoreKey is the name under which Dubbo's natives keep a document in a
// registry's store of documents: in Nacos the group and the dataId.
type StoreKey struct{ Group, Name string }

// DocumentAt says which document the path rel below a root is, if it has the
// form of one. Directories above documents have none, but for the node of a
// mapping, which is directory and document at once.
func DocumentAt(rel string) (Document, bool) {
	d, ok := documentAt(rel)
	if !ok {
		return Document{}, false
	}
	if d.Interface != "" && d.Rel() != rel {
		at := 1
		if d.Form == FormMappingConfig {
			at = 2
		}
		d.Segment = strings.Split(rel, "/")[at]
	}
	return d, true
}

func documentAt(rel string) (Document, bool) {
	s := strings.Split(rel, "/")
	for _, segment := range s {
		if segment == "" || segment == "." || segment == ".." {
			return Document{}, false
		}
	}
	if len(s) > 1 && isCategory(s[1]) {
		return Document{}, false // made by an administrator's subscription to everything
	}
	switch {
	case s[0] == configDir && len(s) > 1:
		return configAt(s[1:])
	case s[0] == mappingDir && len(s) > 1:
		return mappingAt(s[1:])
	case s[0] == metadataDir && len(s) > 2:
		return metadataAt(s[1:])
	case reserved[s[0]] == "" && len(s) == 2 && isRevision(s[1]) && validApplication(s[0]):
		return Document{Kind: KindMetadata, Form: FormMetadataGo, Application: s[0], Revision: s[1]}, true
	}
	return Document{}, false
}

func configAt(s []string) (Document, bool) {
	d := Document{Kind: KindConfig}
	switch {
	case len(s) == 1 && strings.ContainsAny(s[0], ".") && s[0] != defaultGroup: // a group has no dot where it is not an application's name: those have no data
		d.Form, d.Group, d.Key = FormConfigBare, defaultGroup, s[0]
	case len(s) == 2 && s[0] != mappingDir:
		d.Form, d.Group, d.Key = FormConfig, s[0], s[1]
	case len(s) == 3 && s[0] == mappingDir && validApplication(s[2]):
		iface, ok := segmentInterface(s[1])
		return Document{Kind: KindMapping, Form: FormMappingConfig, Interface: iface, Application: s[2]}, ok
	default:
		return Document{}, false
	}
	return d, true
}

func mappingAt(s []string) (Document, bool) {
	iface, ok := segmentInterface(s[0])
	switch {
	case ok && len(s) == 1:
		return Document{Kind: KindMapping, Form: FormMapping, Interface: iface}, true
	case ok && len(s) == 2 && validApplication(s[1]):
		return Document{Kind: KindMapping, Form: FormMappingChild, Interface: iface, Application: s[1]}, true
	}
	return Document{}, false
}

func metadataAt(s []string) (Document, bool) {
	if len(s) == 2 && isRevision(s[1]) && validApplication(s[0]) {
		return Document{Kind: KindMetadata, Form: FormMetadata, Application: s[0], Revision: s[1]}, true
	}
	iface, ok := segmentInterface(s[0])
	if !ok || len(s) < 3 {
		return Document{}, false
	}
	d := Document{Kind: KindDefinition, Form: FormDefinition, Interface: iface}
	tail := 2 // side, application
	if revision, is := strings.CutPrefix(s[len(s)-1], "revision"); is && len(s) > 3 && isSide(s[len(s)-3]) {
		tail, d.Form, d.Protocol, d.Revision = 3, FormServiceURL, s[len(s)-2], revision
	} else {
		d.Application = s[len(s)-1]
	}
	between := s[1 : len(s)-tail]
	d.Side = s[len(s)-tail]
	if !isSide(d.Side) || len(between) > 2 || d.Form == FormDefinition && !validApplication(d.Application) {
		return Document{}, false
	}
	d.Between = strings.Join(between, "/")
	return d, true
}

// Rel gives the path of the document below its root: what DocumentAt was asked
// about.
func (d Document) Rel() string {
	iface := d.Segment
	switch {
	case iface != "":
	case d.Kind == KindDefinition:
		iface = styleJava.escape(d.Interface)
	default:
		iface = d.Interface
	}
	switch d.Form {
	case FormConfig:
		return configDir + "/" + d.Group + "/" + d.Key
	case FormConfigBare:
		return configDir + "/" + d.Key
	case FormMapping:
		return mappingDir + "/" + iface
	case FormMappingChild:
		return mappingDir + "/" + iface + "/" + d.Application
	case FormMappingConfig:
		return configDir + "/" + mappingDir + "/" + iface + "/" + d.Application
	case FormMetadata:
		return metadataDir + "/" + d.Application + "/" + d.Revision
	case FormMetadataGo:
		return d.Application + "/" + d.Revision
	case FormDefinition:
		return join(metadataDir, iface, d.Between, d.Side, d.Application)
	case FormServiceURL:
		return join(metadataDir, iface, d.Between, d.Side, d.Protocol, "revision"+d.Revision)
	}
	return ""
}

// StoreKey gives the key of the document in the registry's store. All forms of
// one mapping have one key, for one set of applications stands behind them, and
// so have both forms of an application's metadata. A definition's version and
// group are told by its content only, so it takes the data; false means that
// they do not tell, and that the document has no place in the store.
func (d Document) StoreKey(data []byte) (StoreKey, bool) {
	switch d.Kind {
	case KindConfig:
		return storeKey(d.Group, d.Key), true
	case KindMapping:
		return storeKey(mappingDir, d.Interface), true
	case KindMetadata:
		return storeKey(d.Revision, d.Application), true
	case KindDefinition:
		version, group, ok := d.versionAndGroup(data)
		if !ok {
			return StoreKey{}, false
		}
		name := strings.Join([]string{d.Interface, version, group, d.Side, d.Application}, ":")
		if d.Form == FormServiceURL {
			name = strings.Join([]string{d.Interface, version, group, d.Side, d.Protocol, "revision" + d.Revision}, ":")
		}
		return storeKey(defaultGroup, name), true
	}
	return StoreKey{}, false
}

func storeKey(group, name string) StoreKey { return StoreKey{storeName(group), storeName(name)} }

// storeName replaces what Nacos does not take in a group or dataId, as Dubbo does.
func storeName(s string) string { return strings.ReplaceAll(mangle(s), "/", "-") }

// versionAndGroup reads a definition's version and group from its content, and
// checks that they stand in the path.
func (d Document) versionAndGroup(data []byte) (version, group string, ok bool) {
	if d.Form == FormServiceURL {
		text, fine := unescape(string(data))
		_, query, found := strings.Cut(text, "?")
		if !fine || !found {
			return "", "", d.Between == ""
		}
		for _, p := range parseQuery(query) {
			switch p.key {
			case keyVersion:
				version = p.value
			case keyGroup:
				group = p.value
			}
		}
	} else {
		// A provider's definition has its parameters in an object of its own, a consumer's is one.
		var body struct {
			Parameters     map[string]json.RawMessage `json:"parameters"`
			Version, Group json.RawMessage
		}
		if json.Unmarshal(data, &body) != nil {
			return "", "", d.Between == "" && len(data) == 0
		}
		if body.Parameters != nil {
			body.Version, body.Group = body.Parameters[keyVersion], body.Parameters[keyGroup]
		}
		version, group = jsonText(body.Version), jsonText(body.Group)
	}
	version, group = orBlank(version), orBlank(group)
	return version, group, !strings.ContainsAny(version+group, "/:") && definitionRel(d, version, group) == d.plain().Rel()
}

// plain gives the document at the path that Dubbo writes.
func (d Document) plain() Document {
	d.Segment = ""
	return d
}

// jsonText gives a JSON string's text, "" for anything else.
func jsonText(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

// definitionRel gives the path that Dubbo makes of a definition: blank segments
// are left out and equal ones written once (PathUtils.buildPath).
func definitionRel(d Document, version, group string) string {
	segments := []string{metadataDir, styleJava.escape(d.Interface), version, group, d.Side}
	if d.Form == FormServiceURL {
		segments = append(segments, d.Protocol, "revision"+d.Revision)
	} else {
		segments = append(segments, d.Application)
	}
	var once []string
	for _, s := range segments {
		if s != "" && !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return strings.Join(once, "/")
}

// DocumentsOf gives the documents below a root that show what natives keep under
// k in the store, the one that Dubbo 3 reads first. data is the stored content,
// for a mapping is seen at a node for each of its applications as well.
func DocumentsOf(k StoreKey, data []byte) []Document {
	name := strings.ReplaceAll(k.Name, "___", "$") // Dubbo's spelling of "$"; a real one is rarer
	if k.Name == "" || k.Group == "" || strings.Contains(k.Group+k.Name, "/") {
		return nil
	}
	parts := strings.Split(name, ":")
	switch {
	case k.Group == mappingDir:
		if !validInterface(name) {
			return nil
		}
		list := []Document{{Kind: KindMapping, Form: FormMapping, Interface: name}}
		for _, form := range []Form{FormMappingChild, FormMappingConfig} {
			for _, app := range MappingApplications(data) {
				list = append(list, Document{Kind: KindMapping, Form: form, Interface: name, Application: app})
			}
		}
		return list
	case isRevision(k.Group) && validApplication(k.Name):
		return []Document{
			{Kind: KindMetadata, Form: FormMetadata, Application: k.Name, Revision: k.Group},
			{Kind: KindMetadata, Form: FormMetadataGo, Application: k.Name, Revision: k.Group},
		}
	case k.Group == defaultGroup && (len(parts) == 5 || len(parts) == 6) && validInterface(parts[0]) && isSide(parts[3]):
		d := Document{Kind: KindDefinition, Form: FormDefinition, Interface: parts[0], Side: parts[3], Application: parts[4]}
		if len(parts) == 6 {
			revision, ok := strings.CutPrefix(parts[5], "revision")
			if !ok {
				return nil
			}
			d.Form, d.Application, d.Protocol, d.Revision = FormServiceURL, "", parts[4], revision
		}
		at, ok := DocumentAt(definitionRel(d, parts[1], parts[2]))
		if !ok || at.Form != d.Form {
			return nil // equal segments have made another path of it
		}
		return []Document{at}
	}
	d := Document{Kind: KindConfig, Form: FormConfig, Group: k.Group, Key: name}
	if _, ok := DocumentAt(d.Rel()); !ok {
		return nil
	}
	list := []Document{d}
	d.Form = FormConfigBare
	if _, ok := DocumentAt(d.Rel()); ok && k.Group == defaultGroup && strings.HasPrefix(name, "dubbo.application.") {
		list = append(list, d)
	}
	return list
}

// MappingApplications gives the applications that the data of a mapping name, in
// their order, each once. What cannot be an application's name is passed over:
// Dubbo 2.7 creates the node as a directory, with its own address for data.
func MappingApplications(data []byte) []string {
	var apps []string
	for token := range strings.SplitSeq(string(data), ",") {
		if app := strings.TrimSpace(token); validApplication(app) && !slices.Contains(apps, app) {
			apps = append(apps, app)
		}
	}
	return apps
}

// MappingData gives the data of a mapping of these applications; nil for none.
func MappingData(apps []string) []byte {
	if len(apps) == 0 {
		return nil
	}
	return []byte(strings.Join(apps, ","))
}

// MergeMapping gives the data of a mapping with all applications of both, those
// of stored first: an update that was made without knowing another loses none.
func MergeMapping(stored, update []byte) []byte {
	apps := MappingApplications(stored)
	for _, app := range MappingApplications(update) {
		if !slices.Contains(apps, app) {
			apps = append(apps, app)
		}
	}
	return MappingData(apps)
}

// validApplication tells whether s can be an application's name. An IP address
// is none: see MappingApplications.
func validApplication(s string) bool {
	if s == "" || s == "." || s == ".." || isCategory(s) || !utf8.ValidString(s) || strings.ContainsAny(s, "/,") {
		return false
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// isRevision tells whether s has the form of a metadata revision: 32 hex digits
// from Java, a CRC in decimal from dubbo-go. A version such as "1" or "20240101"
// of a definition's path is none where a side follows it.
func isRevision(s string) bool {
	if len(s) == 32 {
		return strings.Trim(s, "0123456789abcdef") == ""
	}
	return 5 <= len(s) && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}

func isSide(s string) bool { return s == "provider" || s == "consumer" }

func isCategory(s string) bool {
	return s == providers || s == consumers || s == configurators || s == routers
}

// segmentInterface reads an interface from a segment, escaped as it stands
// below metadata or not as it stands below mapping.
func segmentInterface(s string) (string, bool) {
	iface, bad := interfaceOf(s)
	return iface, bad == nil && !isCategory(iface)
}

func join(segments ...string) string {
	return strings.Join(slices.DeleteFunc(segments, func(s string) bool { return s == "" }), "/")
}
