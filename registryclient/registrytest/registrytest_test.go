package registrytest_test

import (
	"testing"

	"go.uber.org/goleak"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/registrytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a Fake as the suite wants it.
type fake struct {
	*registrytest.Fake
	clients []*registrytest.FakeClient
}

func (f *fake) Client(_ *testing.T, o rc.Owner) rc.Client {
	c := f.Fake.Client(o)
	f.clients = append(f.clients, c)
	return c
}

func (f *fake) Register(_ *testing.T, s rc.Service, i rc.Instance) { f.Fake.Register(s, i) }
func (f *fake) Deregister(_ *testing.T, s rc.Service, i rc.Instance) {
	f.Fake.Deregister(s, i.Address())
}
func (f *fake) Stop(*testing.T)  { f.Fake.Stop() }
func (f *fake) Start(*testing.T) { f.Fake.Start() }

func (f *fake) Cut(*testing.T) {
	for _, c := range f.clients {
		c.Cut("the link is cut")
	}
}

func (f *fake) Heal(*testing.T) {
	for _, c := range f.clients {
		c.Heal()
	}
}

func TestFakeConforms(t *testing.T) {
	registrytest.Run(t, func(*testing.T) registrytest.Registry { return &fake{Fake: registrytest.NewFake()} })
}

// faulty is a Fake behind Faulty clients, which can cut links without the
// registry noticing.
type faulty struct {
	*registrytest.Fake
	clients []*registrytest.Faulty
}

func (f *faulty) Client(_ *testing.T, o rc.Owner) rc.Client {
	c := registrytest.NewFaulty(f.Fake.Client(o))
	f.clients = append(f.clients, c)
	return c
}

func (f *faulty) Register(_ *testing.T, s rc.Service, i rc.Instance) { f.Fake.Register(s, i) }
func (f *faulty) Deregister(_ *testing.T, s rc.Service, i rc.Instance) {
	f.Fake.Deregister(s, i.Address())
}
func (f *faulty) Stop(*testing.T)  { f.Fake.Stop() }
func (f *faulty) Start(*testing.T) { f.Fake.Start() }

func (f *faulty) Cut(*testing.T) {
	for _, c := range f.clients {
		c.Cut("the link is cut")
	}
}

func (f *faulty) Heal(*testing.T) {
	for _, c := range f.clients {
		c.Heal()
	}
}

func TestFaultyWithoutFaultsConforms(t *testing.T) {
	registrytest.Run(t, func(*testing.T) registrytest.Registry { return &faulty{Fake: registrytest.NewFake()} })
}
