package embedded

import (
	"net/http"
	"strconv"
	"time"

	rc "zkbridge/registryclient"
)

// ownerIn reads the owner that a request names; its incarnation comes with the
// body.
func ownerIn(req *http.Request) (rc.Owner, *Problem) {
	n, err := strconv.ParseUint(req.PathValue("bridge"), 10, 8)
	if err != nil {
		return rc.Owner{}, problem(codeInvalid, "choose a bridge id from 1 to 254", "the bridge id %q is not a number from 1 to 254", req.PathValue("bridge"))
	}
	return rc.Owner{Cluster: req.PathValue("cluster"), Bridge: uint8(n)}, nil
}

func (h *handler) renew(w http.ResponseWriter, req *http.Request) error {
	o, p := ownerIn(req)
	if p != nil {
		return p
	}
	body, err := readBody(w, req, h.reg.limits.Body)
	if err != nil {
		return err
	}
	var m leaseRequest
	if p := decodeBody(body, &m); p != nil {
		return p
	}
	o.Incarnation = m.Incarnation
	l, err := h.reg.Renew(o, time.Duration(m.TTL))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, leaseAnswer{Lease: l.ID, TTL: Duration(l.TTL)})
	return nil
}

func (h *handler) publish(w http.ResponseWriter, req *http.Request) error {
	o, p := ownerIn(req)
	if p != nil {
		return p
	}
	body, err := readBody(w, req, h.reg.limits.OwnerBody)
	if err != nil {
		return err
	}
	var m publishRequest
	if p := decodeBody(body, &m); p != nil {
		return p
	}
	o.Incarnation = m.Incarnation
	pub := rc.Publication{Owner: o, Service: serviceIn(req), Generation: m.Generation, Instances: make([]rc.Instance, len(m.Instances))}
	for k, i := range m.Instances {
		pub.Instances[k] = rc.Instance(i)
	}
	l, err := h.reg.Publish(pub, time.Duration(m.TTL))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, leaseAnswer{Lease: l.ID, TTL: Duration(l.TTL)})
	return nil
}

func (h *handler) ownServices(w http.ResponseWriter, req *http.Request) error {
	o, p := ownerIn(req)
	if p != nil {
		return p
	}
	o.Incarnation = 1 // any: the answer is about all of them
	list, err := h.reg.OwnServices(o)
	if err != nil {
		return err
	}
	a := ownServicesAnswer{Services: make([]serviceName, 0, len(list))}
	for _, s := range list {
		a.Services = append(a.Services, serviceName{Namespace: s.Namespace, Group: s.Group, Service: s.Name})
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}
