package embedded

import (
	_ "embed"
	"net/http"
)

// openAPIDocument describes the HTTP API. A test keeps it and the routes the
// same.
//
//go:embed openapi.yaml
var openAPIDocument []byte

func (h *handler) openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	w.Write(openAPIDocument)
	return nil
}
