package nacos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// tokens keeps the access token of a user, which all connections share.
type tokens struct {
	// set at construction
	username, password string
	http               *http.Client
	counters           *counters
	log                func(msg string, args ...any)

	turn chan struct{} // holds one token: who has it logs in

	mu      sync.Mutex
	token   string
	got     time.Time
	ttl     time.Duration
	failure string // of the last attempt; "" after a success
}

func (t *tokens) used() bool { return t.username != "" }

// headers are what every request carries.
func (t *tokens) headers() map[string]string {
	h := map[string]string{"app": "zkbridge"}
	if t.used() {
		t.mu.Lock()
		defer t.mu.Unlock()
		h["accessToken"] = t.token
	}
	return h
}

// due tells whether the token is missing, or past half its life.
func (t *tokens) due() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token == "" || time.Since(t.got) > t.ttl/2
}

// ensure logs in if that is due.
func (t *tokens) ensure(ctx context.Context, at server) error {
	if !t.used() || !t.due() {
		return nil
	}
	err := t.renew(ctx, at)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && t.token != "" && time.Since(t.got) < t.ttl {
		return nil // the old one is good for a while
	}
	return err
}

// renew logs in, unless somebody else has done so since it was called.
func (t *tokens) renew(ctx context.Context, at server) error {
	called := time.Now()
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t.turn }()
	t.mu.Lock()
	done := t.got.After(called)
	t.mu.Unlock()
	if done {
		return nil
	}
	token, ttl, err := t.login(ctx, at)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.counters.loginFailures.Add(1)
		if text := err.Error(); text != t.failure && ctx.Err() == nil {
			t.failure = text
			t.log("log-in at Nacos failed", "user", t.username, "err", text)
		}
		return err
	}
	t.counters.logins.Add(1)
	t.token, t.ttl, t.got, t.failure = token, ttl, time.Now(), ""
	return nil
}

// Paths of the log-in: 2.x and, where it is kept for old clients, 3.x; then 3.x.
var loginPaths = []string{"/v1/auth/users/login", "/v3/auth/user/login"}

// errLogin is wrapped where user or password are wrong.
var errLogin = errors.New("user or password are refused")

func (t *tokens) login(ctx context.Context, at server) (token string, ttl time.Duration, err error) {
	form := url.Values{"username": {t.username}, "password": {t.password}}.Encode()
	for _, path := range loginPaths {
		var code int
		var body []byte
		code, body, err = t.post(ctx, at.http+path, form)
		switch {
		case err != nil:
			return "", 0, fmt.Errorf("log in: %w", err)
		case code == http.StatusNotFound || code == http.StatusGone || code == http.StatusNotImplemented || code == http.StatusMethodNotAllowed:
			err = fmt.Errorf("log in at %s: HTTP status %d", at.http+path, code)
			continue
		case code == http.StatusForbidden || code == http.StatusUnauthorized || code == http.StatusBadRequest || code == http.StatusInternalServerError:
			return "", 0, fmt.Errorf("log in at %s as %s: %w (HTTP status %d: %.200s)", at.http+path, t.username, errLogin, code, body)
		case code != http.StatusOK:
			return "", 0, fmt.Errorf("log in at %s: HTTP status %d: %.200s", at.http+path, code, body)
		}
		var answer struct {
			AccessToken string `json:"accessToken"`
			TokenTTL    int64  `json:"tokenTtl"` // seconds
			Data        struct {
				AccessToken string `json:"accessToken"`
				TokenTTL    int64  `json:"tokenTtl"`
			} `json:"data"`
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return "", 0, fmt.Errorf("log in at %s: an answer that cannot be read: %w", at.http+path, err)
		}
		if answer.AccessToken == "" {
			answer.AccessToken, answer.TokenTTL = answer.Data.AccessToken, answer.Data.TokenTTL
		}
		if answer.AccessToken == "" {
			return "", 0, fmt.Errorf("log in at %s: no token in the answer", at.http+path)
		}
		if answer.TokenTTL <= 0 {
			answer.TokenTTL = 18000
		}
		return answer.AccessToken, time.Duration(answer.TokenTTL) * time.Second, nil
	}
	return "", 0, err
}

func (t *tokens) post(ctx context.Context, address, form string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := t.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, body, err
}

// keep renews the token at half its life until ctx ends.
func (t *tokens) keep(ctx context.Context, servers []server) {
	if !t.used() {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if t.due() {
			within, cancel := context.WithTimeout(ctx, 10*time.Second)
			_ = t.renew(within, servers[n%len(servers)]) // counted and logged there
			cancel()
		}
	}
}
