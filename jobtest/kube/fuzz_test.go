package kube_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/jobtest/kube/behaviour"
)

// FuzzRequest sends any request, and then reads what it may have changed. Every answer has
// a status, and nothing panics.
func FuzzRequest(f *testing.F) {
	scripts := Must(behaviour.Scripts())
	for _, script := range scripts {
		for _, row := range script.Rows {
			for _, step := range row.Steps {
				contentType := "application/json"
				if len(step.Header) > 0 {
					contentType = step.Header[0][1]
				}
				f.Add(step.Method, strings.ReplaceAll(step.Path, "{ns}", "default"), contentType, []byte(step.Body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, method, path, contentType string, body []byte) {
		where, err := url.Parse("http://kube-apiserver" + path)
		if err != nil || !strings.HasPrefix(path, "/") {
			return
		}
		s := kube.New(kube.Options{Kinds: []kube.Kind{widgets, gadgets}})
		send := func(method, contentType string, where *url.URL, body []byte) {
			r := &http.Request{Method: method, URL: where, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(string(body)))}
			response := Must(s.RoundTrip(r))
			if response.StatusCode < 200 || response.StatusCode > 599 {
				t.Errorf("status %d", response.StatusCode)
			}
			if response.ContentLength >= 0 { // a watch would wait
				if _, err := io.ReadAll(response.Body); err != nil {
					t.Error(err)
				}
			}
			response.Body.Close()
		}
		for _, seed := range []struct{ resource, object string }{
			{"/api/v1/namespaces/default/pods", `{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}`},
			{"/apis/batch/v1/namespaces/default/jobs", `{"metadata": {"name": "a"}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}}}`},
			{"/apis/example.com/v1/namespaces/default/widgets", `{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}`},
		} {
			send("POST", "application/json", &url.URL{Path: seed.resource}, []byte(seed.object))
		}
		send(method, contentType, where, body)
		send("GET", "", where, nil)
		send("DELETE", "", where, nil)
		kube.Collector{Server: s}.Run()
	})
}
