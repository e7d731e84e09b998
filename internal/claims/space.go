package claims

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zkbridge/registryclient"
	"zkbridge/translate"
)

// Space is a set of roots that move together, and where they are in the
// registry.
type Space struct {
	Name string
	// Namespace and Group are the registry's. A {name} in them is replaced by
	// the part of the path that the root's pattern calls so.
	Namespace string
	Group     string
	Roots     []Root
}

// Root is a subtree that holds registrations, or a pattern of such subtrees.
type Root struct {
	// Pattern is an absolute path below "/". A segment in braces stands for any
	// one segment: /apps/{tenant}/dubbo.
	Pattern string
	Layouts []translate.Layout // the first that knows a path has it
	// IgnoreACL says that ACLs from this root on are kept but refuse nobody: some
	// applications of the fleet bring credentials and others do not.
	IgnoreACL bool
}

// Target is a place in the registry: where the services of a root are.
type Target struct {
	Namespace string
	Group     string
}

// Service names a service of the target.
func (t Target) Service(name string) registryclient.Service {
	return registryclient.Service{Namespace: t.Namespace, Group: t.Group, Name: name}
}

// String gives "namespace/group".
func (t Target) String() string { return t.Namespace + "/" + t.Group }

// Home is where the truth about a path is.
type Home uint8

// HomeTree is the bridge's own tree: the only home until an ensemble can be
// followed.
const HomeTree Home = 0

// String gives the home as words.
func (h Home) String() string { return "the bridge's own tree" }

// Location is what a path is to the spaces.
type Location struct {
	Space   string // "" for the default space: paths that are in no root
	Pattern string // of the root, as configured
	Root    string // the directory that the layout's paths are below, patterns resolved
	Target  Target
	Layout  translate.Layout // nil in the default space
	Rel     string           // the path below Root
	Place   translate.Place

	layouts []translate.Layout // all of the root's
}

// Dir is the whole path of the bound directory that the path is or is in; "" if
// there is none.
func (l Location) Dir() string {
	if l.Layout == nil || l.Place.Dir == "" {
		return ""
	}
	return l.Root + "/" + l.Place.Dir
}

// Spaces are all spaces of a bridge. They never change; safe for concurrent
// use.
type Spaces struct {
	list []Space
	top  *step
}

// step is one segment in the tree of patterns.
type step struct {
	named map[string]*step
	any   *step
	root  *root
}

// root is one configured root.
type root struct {
	space    int
	pattern  string
	segments []string
	layouts  []translate.Layout
	open     bool // Root.IgnoreACL
	base     int  // segments of the pattern that lead to the layout's root
}

// NewSpaces checks spaces: names and patterns are well formed, no two roots can
// be the longest prefix of one path, and every {name} of a target is in the
// pattern of each root of the space. All problems are in the error.
//
// A root that names one service of another root with the same layout, such as
// /dubbo/com.acme.Pay beside /dubbo, is that service moved to another space:
// its paths are read from the other root on.
func NewSpaces(spaces []Space) (*Spaces, error) {
	s := &Spaces{list: slices.Clone(spaces), top: &step{}}
	var problems []error
	var all []*root
	names := make(map[string]bool)
	for i, space := range spaces {
		switch {
		case space.Name == "":
			problems = append(problems, fmt.Errorf("space %d has no name", i+1))
		case names[space.Name]:
			problems = append(problems, fmt.Errorf("two spaces are called %q", space.Name))
		}
		names[space.Name] = true
		for _, r := range space.Roots {
			made, err := newRoot(i, space, r)
			if err != nil {
				problems = append(problems, fmt.Errorf("space %q: %w", space.Name, err))
				continue
			}
			all = append(all, made)
		}
	}
	for i, r := range all {
		for _, other := range all[:i] {
			if overlap(r.segments, other.segments) {
				problems = append(problems, fmt.Errorf("roots %s (space %q) and %s (space %q) are the same for some paths: change one of them",
					other.pattern, spaces[other.space].Name, r.pattern, spaces[r.space].Name))
			}
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	for _, r := range all {
		r.base = baseOf(r, all)
		s.add(r)
	}
	return s, nil
}

func newRoot(space int, in Space, r Root) (*root, error) {
	rest, ok := strings.CutPrefix(r.Pattern, "/")
	if !ok || rest == "" {
		return nil, fmt.Errorf("root %q is not an absolute path below /", r.Pattern)
	}
	made := &root{space: space, pattern: r.Pattern, segments: strings.Split(rest, "/"), layouts: r.Layouts, open: r.IgnoreACL}
	if len(r.Layouts) == 0 {
		return nil, fmt.Errorf("root %s has no layout", r.Pattern)
	}
	seen := make(map[string]bool)
	for _, part := range made.segments {
		name, variable := variableOf(part)
		switch {
		case part == "" || part == "." || part == "..":
			return nil, fmt.Errorf("root %s: the part %q is no name", r.Pattern, part)
		case variable && (name == "" || seen[name]):
			return nil, fmt.Errorf("root %s: the part %q has no name or one that is used twice", r.Pattern, part)
		case !variable && strings.ContainsAny(part, "{}"):
			return nil, fmt.Errorf("root %s: braces in %q must be around the whole part", r.Pattern, part)
		case variable:
			seen[name] = true
		}
	}
	if made.segments[0] == "zookeeper" {
		return nil, fmt.Errorf("root %s is ZooKeeper's own", r.Pattern)
	}
	for _, template := range []string{in.Namespace, in.Group} {
		for _, name := range namesIn(template) {
			if !seen[name] {
				return nil, fmt.Errorf("{%s} is not in the root %s", name, r.Pattern)
			}
		}
	}
	return made, nil
}

// variableOf gives the name in braces.
func variableOf(part string) (name string, ok bool) {
	if len(part) >= 2 && part[0] == '{' && part[len(part)-1] == '}' {
		return part[1 : len(part)-1], true
	}
	return "", false
}

// namesIn lists the {names} of a template.
func namesIn(template string) (names []string) {
	for {
		_, rest, ok := strings.Cut(template, "{")
		if !ok {
			return names
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return names
		}
		names, template = append(names, name), after
	}
}

// overlap tells whether some path is both patterns.
func overlap(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		_, va := variableOf(a[i])
		_, vb := variableOf(b[i])
		if a[i] != b[i] && !va && !vb {
			return false
		}
	}
	return true
}

// baseOf gives how many segments of r lead to the root that its layout starts
// at: its own, or the shorter root that it is one service of.
func baseOf(r *root, all []*root) int {
	base := len(r.segments)
	longest := 0
	for _, o := range all {
		n := len(o.segments)
		if n >= len(r.segments) || n <= longest || !covers(o.segments, r.segments[:n]) {
			continue
		}
		rel := strings.Join(r.segments[n:], "/")
		for _, l := range r.layouts {
			p := l.Classify(rel)
			if p.Kind == translate.KindServiceDir && strings.Contains(p.Service, ".") &&
				slices.ContainsFunc(o.layouts, func(m translate.Layout) bool { return m.Name() == l.Name() }) {
				base, longest = n, n
			}
		}
	}
	return base
}

// covers tells whether every path of pattern b is one of pattern a.
func covers(a, b []string) bool {
	for i := range a {
		if _, any := variableOf(a[i]); !any && a[i] != b[i] {
			return false
		}
	}
	return true
}

func (s *Spaces) add(r *root) {
	at := s.top
	for _, part := range r.segments {
		if _, any := variableOf(part); any {
			if at.any == nil {
				at.any = &step{}
			}
			at = at.any
			continue
		}
		next := at.named[part]
		if next == nil {
			next = &step{}
			if at.named == nil {
				at.named = make(map[string]*step)
			}
			at.named[part] = next
		}
		at = next
	}
	at.root = r
}

// deepest gives the root with the longest pattern that is path or a prefix of
// it, below at. rest is the path after the slash; "" is its end.
func (at *step) deepest(rest string) *root {
	found := at.root
	if rest == "" {
		return found
	}
	part, after, _ := strings.Cut(rest, "/")
	for _, next := range []*step{at.named[part], at.any} {
		if next == nil {
			continue
		}
		if r := next.deepest(after); r != nil && (found == nil || len(r.segments) > len(found.segments)) {
			found = r
		}
	}
	return found
}

// leads tells whether path is in a root, or on the way to one.
func (s *Spaces) leads(path string) bool { return s.top.leads(path[1:]) }

func (at *step) leads(rest string) bool {
	if rest == "" || at.root != nil {
		return true
	}
	part, after, _ := strings.Cut(rest, "/")
	next := at.named[part]
	return next != nil && next.leads(after) || at.any != nil && at.any.leads(after)
}

// Locate says what path is. The path must be a legal one of ZooKeeper.
func (s *Spaces) Locate(path string) Location {
	if len(path) < 2 {
		return Location{}
	}
	r := s.top.deepest(path[1:])
	if r == nil {
		return Location{}
	}
	space := &s.list[r.space]
	loc := Location{Space: space.Name, Pattern: r.pattern, layouts: r.layouts}
	loc.Root, loc.Rel = path, ""
	if end := cutSegments(path, r.base); end < len(path) {
		loc.Root, loc.Rel = path[:end], path[end+1:]
	}
	loc.Target = Target{Namespace: r.fill(space.Namespace, path), Group: r.fill(space.Group, path)}
	loc.Layout = r.layouts[0]
	loc.Place = loc.Layout.Classify(loc.Rel)
	for _, l := range r.layouts[1:] {
		if loc.Place.Kind != translate.KindElsewhere {
			break
		}
		if p := l.Classify(loc.Rel); p.Kind != translate.KindElsewhere {
			loc.Layout, loc.Place = l, p
		}
	}
	return loc
}

// cutSegments gives the length of the first n segments of path.
func cutSegments(path string, n int) int {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			if n--; n == 0 {
				return i
			}
		}
	}
	return len(path)
}

// fill puts the parts of path into a template.
func (r *root) fill(template, path string) string {
	if strings.IndexByte(template, '{') < 0 {
		return template
	}
	parts := strings.SplitN(path[1:], "/", len(r.segments)+1)
	pairs := make([]string, 0, 2*len(r.segments))
	for i, segment := range r.segments {
		if _, any := variableOf(segment); any {
			pairs = append(pairs, segment, parts[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// Home says where the truth about path is.
func (s *Spaces) Home(path string) Home { return HomeTree }

// Sticky tells whether path is a root or a directory in one that clients
// believe to be there for ever: such a directory is not removed for being
// empty, only by a client's delete.
func (s *Spaces) Sticky(path string) bool {
	switch s.Locate(path).Place.Kind {
	case translate.KindRoot, translate.KindServiceDir, translate.KindBoundDir, translate.KindCategory:
		return true
	}
	return false
}

// IgnoresACL tells whether path is in a root, or is one, where ACLs refuse
// nobody.
func (s *Spaces) IgnoresACL(path string) bool {
	if len(path) < 2 {
		return false
	}
	r := s.top.deepest(path[1:])
	return r != nil && r.open
}

// fixed lists the roots whose path has no variable part, as places where
// instances may be shown.
func (s *Spaces) fixed() (roots []Location) {
	s.top.each(func(r *root) {
		if !strings.Contains(r.pattern, "{") {
			roots = append(roots, s.Locate(r.pattern))
		}
	})
	return roots
}

// Configured tells whether a target is one that the configuration names, not
// one that a path has turned up.
func (s *Spaces) Configured(t Target) bool {
	return slices.ContainsFunc(s.fixed(), func(l Location) bool { return l.Target == t })
}

func (at *step) each(fn func(*root)) {
	if at.root != nil {
		fn(at.root)
	}
	for _, next := range at.named {
		next.each(fn)
	}
	if at.any != nil {
		at.any.each(fn)
	}
}

// place is a resolved root of a space: a root directory bound to a target.
type place struct {
	space  string
	root   string
	target Target
}

func (l Location) place() place { return place{space: l.Space, root: l.Root, target: l.Target} }
