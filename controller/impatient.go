package controller

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// impatient removes the header Retry-After from an answer that asks to wait longer than a request may take. client-go
// would wait until the timeout and then drop the answer, so a request that was refused would count as one that may
// have been carried out. The queue waits instead: the error has the time too.
type impatient struct{ next http.RoundTripper }

func (i impatient) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := i.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	deadline, limited := r.Context().Deadline()
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	if !limited || seconds == 0 || time.Until(deadline) > time.Duration(seconds)*time.Second {
		return response, nil
	}
	response.Header.Del("Retry-After")
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/") {
		return response, nil // a Status, which has the time
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1024))
	_ = response.Body.Close()
	status := apierrors.NewGenericServerResponse(response.StatusCode, r.Method, schema.GroupResource{}, "",
		strings.TrimSpace(string(text)), seconds, false).ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(status)
	response.Header.Set("Content-Type", "application/json")
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, err
}
