package config

import "time"

// Guard says what may hold a removal back, and for how long.
type Guard struct {
	Enabled bool `mapstructure:"enabled" doc:"false: an expired session's addresses go with it, and the registry may take away what it likes at once. Addresses of\nsessions that the log may lack records of are held in any case."`

	MassShare    float64       `mapstructure:"massShare" doc:"Addresses are held when at least this share of the sessions that own one is silent at once, and at least massSessions are,\nor most of a service's: then a link is likelier to be down than all of them."`
	MassSessions int           `mapstructure:"massSessions" doc:"The fewest silent sessions that are many."`
	Window       time.Duration `mapstructure:"window" doc:"Removals that lie closer together than this are one event, for massShare and for cap."`
	Cap          float64       `mapstructure:"cap" doc:"The largest share of a service's addresses that may go within the window without evidence (a refused probe, a\nclient's delete, an operator); at least one stays."`

	Hold    time.Duration `mapstructure:"hold" doc:"A held address that nobody claims again, and that answers no probe, goes after so long."`
	HoldMax time.Duration `mapstructure:"holdMax" doc:"One that answers probes, and the last address of a service, are kept for so long at most."`

	Probe         string        `mapstructure:"probe" doc:"How a held address is asked whether it lives. tcp: a connection. dubbo: a connection and Dubbo's heart-beat. off: not at\nall. One that refuses twice goes at once; no answer says nothing."`
	ProbeInterval time.Duration `mapstructure:"probeInterval" doc:"Between two probes of an address."`
	ProbeTimeout  time.Duration `mapstructure:"probeTimeout" doc:"The longest wait for an answer to a probe."`
}

func defaultGuard() Guard {
	return Guard{
		Enabled: true, MassShare: 0.3, MassSessions: 3, Window: 10 * time.Second, Cap: 0.5,
		Hold: 10 * time.Minute, HoldMax: time.Hour,
		Probe: "tcp", ProbeInterval: 5 * time.Second, ProbeTimeout: time.Second,
	}
}

func (c Config) validateGuard(bad reporter) {
	g := c.Guard
	for key, share := range map[string]float64{"guard.massShare": g.MassShare, "guard.cap": g.Cap} {
		if !(share > 0 && share <= 1) { // NaN too
			bad(key, "%v is not a share above 0 and up to 1, such as 0.5", share)
		}
	}
	if g.MassSessions < 1 {
		bad("guard.massSessions", "%d is not above 0", g.MassSessions)
	}
	for key, d := range map[string]time.Duration{
		"guard.window": g.Window, "guard.hold": g.Hold, "guard.holdMax": g.HoldMax,
		"guard.probeInterval": g.ProbeInterval, "guard.probeTimeout": g.ProbeTimeout,
	} {
		if d <= 0 {
			bad(key, "%v is not a positive duration such as 10s", d)
		}
	}
	if g.HoldMax < g.Hold {
		bad("guard.holdMax", "%v is shorter than guard.hold (%v)", g.HoldMax, g.Hold)
	}
	switch g.Probe {
	case "tcp", "dubbo", "off":
	default:
		bad("guard.probe", "%q is not tcp, dubbo or off", g.Probe)
	}
}
