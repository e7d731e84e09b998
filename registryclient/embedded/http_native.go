package embedded

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	rc "zkbridge/registryclient"
)

func (h *handler) register(w http.ResponseWriter, req *http.Request) error {
	ip, port, p := parseAddress(req.PathValue("instance"))
	if p != nil {
		return p
	}
	body, err := readBody(w, req, h.reg.limits.Body)
	if err != nil {
		return err
	}
	var g Registration
	if p := decodeBody(body, &g); p != nil {
		return p
	}
	s, i := serviceIn(req), g.instance(ip, port)
	created, err := h.reg.Register(s, i, time.Duration(g.TTL))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	writeJSON(w, status, Registered{Service: s.Name, Instance: i.Address(), TTL: cmp.Or(g.TTL, Duration(h.reg.limits.DefaultTTL)), Created: created})
	return nil
}

func (h *handler) heartbeat(w http.ResponseWriter, req *http.Request) error {
	s, address, err := h.addressed(req)
	if err != nil {
		return err
	}
	ttl, err := h.reg.Heartbeat(s, address)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, Registered{Service: s.Name, Instance: address, TTL: Duration(ttl)})
	return nil
}

func (h *handler) deregister(w http.ResponseWriter, req *http.Request) error {
	s, address, err := h.addressed(req)
	if err != nil {
		return err
	}
	if err := h.reg.Deregister(s, address); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h *handler) instance(w http.ResponseWriter, req *http.Request) error {
	s, address, err := h.addressed(req)
	if err != nil {
		return err
	}
	if p := h.reg.unsure(); p != nil {
		return p
	}
	v, p := h.reg.viewOf(s)
	if p != nil {
		return p
	}
	for _, r := range v.merged() {
		if r.Address() == address {
			writeJSON(w, http.StatusOK, wireRecord(r))
			return nil
		}
	}
	return problem(codeNotFound, "look at the list of the service", "%s has no instance %s", s, address)
}

func (h *handler) instances(w http.ResponseWriter, req *http.Request) error {
	all, err := flag(req, "all")
	if err != nil {
		return err
	}
	if p := h.reg.unsure(); p != nil {
		return p
	}
	v, p := h.reg.viewOf(serviceIn(req))
	if p != nil {
		return p
	}
	writeBody(w, http.StatusOK, v.body(all))
	return nil
}

func (h *handler) groupServices(w http.ResponseWriter, req *http.Request) error {
	k := groupKey{req.PathValue("namespace"), req.PathValue("group")}
	if p := h.reg.limits.checkGroup(k.namespace, k.group); p != nil {
		return p
	}
	return h.services(w, func(g groupKey) bool { return g == k })
}

func (h *handler) allServices(w http.ResponseWriter, _ *http.Request) error {
	return h.services(w, func(groupKey) bool { return true })
}

func (h *handler) services(w http.ResponseWriter, wanted func(groupKey) bool) error {
	if p := h.reg.unsure(); p != nil {
		return p
	}
	var views []*view
	h.reg.mu.Lock()
	for k, g := range h.reg.groups {
		if !wanted(k) {
			continue
		}
		for _, s := range g.services {
			if s.listed {
				views = append(views, s.viewLocked())
			}
		}
	}
	h.reg.mu.Unlock()
	slices.SortFunc(views, func(a, b *view) int { return a.service.Compare(b.service) })
	l := ServiceList{Services: make([]ServiceInfo, 0, len(views))}
	for _, v := range views {
		l.Services = append(l.Services, ServiceInfo{
			Namespace: v.service.Namespace, Group: v.service.Group, Service: v.service.Name,
			Instances: len(v.merged()), Revision: v.revision,
		})
	}
	writeJSON(w, http.StatusOK, l)
	return nil
}

// addressed gives the service and the instance ("ip:port", normalised) that a
// request names.
func (h *handler) addressed(req *http.Request) (rc.Service, string, error) {
	s := serviceIn(req)
	if p := h.reg.limits.checkService(s); p != nil {
		return s, "", p
	}
	ip, port, p := parseAddress(req.PathValue("instance"))
	if p != nil {
		return s, "", p
	}
	return s, net.JoinHostPort(ip, strconv.Itoa(port)), nil
}

// flag reads a query parameter that is true or false.
func flag(req *http.Request, name string) (bool, error) {
	text := req.URL.Query().Get(name)
	if text == "" {
		return false, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, problem(codeInvalid, "write ?"+name+"=true or leave it out", "the parameter %s is %q", name, text)
	}
	return v, nil
}
