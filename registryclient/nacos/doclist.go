package nacos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	rc "zkbridge/registryclient"
)

// listPage is how many configurations are listed at once.
const listPage = 200

// errNoSuchAPI is answered by a server of another version.
var errNoSuchAPI = fmt.Errorf("this Nacos has no such HTTP API")

// Documents implements registryclient.KeyValues. Over gRPC Nacos does not list
// configurations: this goes to the HTTP API of 2.x and of 3.x, which needs a user with
// the right to it where authentication is on.
func (c *Client) Documents(ctx context.Context, namespace, name string) ([]rc.Key, error) {
	const op = "list documents"
	in := rc.Service{Namespace: namespace, Group: name}
	if why := checkGroup(namespace, name); why != "" {
		return nil, &rc.Error{Op: op, Service: in, Kind: rc.Invalid, Err: fmt.Errorf("%s", why)}
	}
	s, err := c.awaitDocuments(ctx)
	if err != nil {
		return nil, failure(op, in, err)
	}
	var list []rc.Key
	for page := 1; ; page++ {
		items, more, err := c.listConfigs(ctx, s.server, namespace, name, page)
		if err != nil {
			return nil, failure(op, in, err)
		}
		for _, i := range items {
			if i.Content != nothing && i.MD5 != md5Of(nothing) {
				list = append(list, rc.Key{Namespace: namespace, Group: name, Name: nameOf(i.DataID)})
			}
		}
		if !more {
			break
		}
	}
	slices.SortFunc(list, rc.Key.Compare)
	return slices.Compact(list), nil
}

type configItem struct {
	DataID  string `json:"dataId"`
	Content string `json:"content"`
	MD5     string `json:"md5"`
}

type configPage struct {
	TotalCount     int          `json:"totalCount"`
	PagesAvailable int          `json:"pagesAvailable"`
	Items          []configItem `json:"pageItems"`
}

// listConfigs reads one page of the configurations of a group.
func (c *Client) listConfigs(ctx context.Context, at server, namespace, name string, page int) (items []configItem, more bool, err error) {
	paging := url.Values{"pageNo": {strconv.Itoa(page)}, "pageSize": {strconv.Itoa(listPage)}, "search": {"accurate"}, "dataId": {""}}
	two, three := url.Values{"group": {name}, "tenant": {tenantOf(namespace)}}, url.Values{"groupName": {name}, "namespaceId": {namespace}}
	for k, v := range paging {
		two[k], three[k] = v, v
	}
	var p configPage
	if err = c.get(ctx, at, "/v1/cs/configs", two, &p); err == errNoSuchAPI { //nolint:errorlint // it is not wrapped
		var wrapped struct {
			Data configPage `json:"data"`
		}
		err = c.get(ctx, at, "/v3/admin/cs/config/list", three, &wrapped)
		p = wrapped.Data
	}
	return p.Items, page < p.PagesAvailable, err
}

// get asks the HTTP API of a server.
func (c *Client) get(ctx context.Context, at server, path string, query url.Values, into any) error {
	if c.tokens.used() {
		if err := c.tokens.ensure(ctx, at); err != nil {
			return err
		}
		query.Set("accessToken", c.tokens.headers()["accessToken"])
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.http+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxMessage))
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return json.Unmarshal(body, into)
	case http.StatusNotFound, http.StatusGone, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return errNoSuchAPI
	case http.StatusForbidden, http.StatusUnauthorized:
		return &refusal{response{ResultCode: codeForbidden, ErrorCode: codeForbidden, Message: fmt.Sprintf("%s: HTTP status %d: %.200s", path, resp.StatusCode, body)}, ""}
	}
	return fmt.Errorf("%s: HTTP status %d: %.200s", path, resp.StatusCode, body)
}
