package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Request is a parsed request for objects.
type Request struct {
	// Verb is create, get, list, watch, update, patch, delete or deletecollection.
	Verb string
	// Resource, Subresource, Namespace and Name are from the path. Subresource and Name may
	// be empty.
	Resource                     schema.GroupVersionResource
	Subresource, Namespace, Name string
	Query                        url.Values
	// ContentType and Body are as sent.
	ContentType string
	Body        []byte
	// UserAgent is the rest.Config.UserAgent of the client.
	UserAgent string

	accept string
	kind   *kind
}

// Verdict decides about a request. The zero Verdict lets the server serve it.
type Verdict struct {
	// Err is the error that the client gets. A *apierrors.StatusError is an answer of the
	// server; any other error is a network error.
	Err error
	// Lost says that the request takes effect before the client gets Err.
	Lost bool
	// Delay is the time before the request takes effect or, if the answer is lost, after
	// that. If the client stops waiting earlier, it gets the error of its context instead
	// of Err.
	Delay time.Duration
	// Answer, if it is not nil, is sent instead of an answer from the stored objects.
	Answer *Answer
}

// Intercept sets the function that decides about each request. The function may first use
// the server to change objects.
func (s *Server) Intercept(f func(*Request) Verdict) {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	s.hooks.intercept = f
}

// errNoPage is the error for a path of an unknown group.
var errNoPage = errors.New("404 page not found")

// answer is the answer to the client.
type answer struct {
	code  int
	body  []byte
	watch *watch
}

// RoundTrip implements [http.RoundTripper].
func (s *Server) RoundTrip(hr *http.Request) (*http.Response, error) { return s.roundTrip(hr, s.ask) }

// intercepted is the server for a client with a function of its own.
type intercepted struct {
	*Server
	ask func(*Request) Verdict
}

// RoundTrip implements [http.RoundTripper].
func (i intercepted) RoundTrip(hr *http.Request) (*http.Response, error) {
	return i.roundTrip(hr, i.ask)
}

func (s *Server) roundTrip(hr *http.Request, ask func(*Request) Verdict) (*http.Response, error) {
	body, err := readBody(hr)
	if err != nil {
		return nil, err
	}
	if err := hr.Context().Err(); err != nil {
		return nil, err
	}
	if text, ok := s.discover(hr); ok {
		return respond(hr, answer{code: http.StatusOK, body: text}), nil
	}
	r, err := s.parse(hr, body)
	if err != nil {
		return refuse(hr, err)
	}
	verdict := ask(r)
	if verdict.Answer != nil {
		a, err := r.reply(verdict.Answer)
		if err != nil {
			return refuse(hr, err)
		}
		return respond(hr, a), nil
	}
	if !verdict.Lost {
		if err := pause(hr.Context(), verdict.Delay); err != nil {
			return nil, err
		}
		if verdict.Err != nil {
			return refuse(hr, verdict.Err)
		}
	}
	a, err := s.serve(hr.Context(), r)
	if verdict.Lost {
		if a.watch != nil {
			a.watch.Close()
		}
		if err := pause(hr.Context(), verdict.Delay); err != nil {
			return nil, err
		}
		if verdict.Err == nil {
			verdict.Err = io.ErrUnexpectedEOF
		}
		return refuse(hr, verdict.Err)
	}
	if err != nil {
		return refuse(hr, err)
	}
	return respond(hr, a), nil
}

func (s *Server) ask(r *Request) Verdict {
	s.hooks.RLock()
	f := s.hooks.intercept
	s.hooks.RUnlock()
	if f == nil {
		return Verdict{}
	}
	return f(r)
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func readBody(hr *http.Request) ([]byte, error) {
	if hr.Body == nil || hr.Body == http.NoBody {
		return nil, nil
	}
	defer hr.Body.Close()
	return io.ReadAll(hr.Body)
}

// parse reads the path of a request for objects.
func (s *Server) parse(hr *http.Request, body []byte) (*Request, error) {
	mediaType, _, _ := strings.Cut(hr.Header.Get("Content-Type"), ";")
	r := &Request{
		Query:       hr.URL.Query(),
		ContentType: strings.TrimSpace(mediaType),
		Body:        body,
		UserAgent:   hr.UserAgent(),
		accept:      hr.Header.Get("Accept"),
	}
	parts := strings.Split(strings.Trim(hr.URL.Path, "/"), "/")
	var gv schema.GroupVersion
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		gv.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		gv.Group, gv.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, errNoPage
	}
	if !slices.ContainsFunc(s.kinds, func(k *kind) bool { return k.GroupVersionKind.GroupVersion() == gv }) {
		return nil, errNoPage
	}
	if len(parts) >= 3 && parts[0] == "namespaces" && !isNamespaceSubresource(parts) {
		r.Namespace, parts = parts[1], parts[2:]
	}
	r.Resource = gv.WithResource(parts[0])
	r.kind = s.byPath[r.Resource]
	if r.kind == nil || len(parts) > 3 || r.kind.ClusterScoped && r.Namespace != "" {
		return nil, noResource()
	}
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Subresource = parts[2]
	}
	if r.Verb = verb(hr.Method, r); r.Verb == "" {
		return nil, noMethod()
	}
	if !r.kind.ClusterScoped && r.Namespace == "" && r.Verb != "list" && r.Verb != "watch" {
		return nil, noMethod()
	}
	return r, nil
}

func isNamespaceSubresource(parts []string) bool {
	return len(parts) == 3 && (parts[2] == "status" || parts[2] == "finalize")
}

// verb returns the verb of a request; empty if the path does not support the method.
func verb(method string, r *Request) string {
	named := r.Name != ""
	watched, _ := strconv.ParseBool(r.Query.Get("watch")) // false if it is no boolean
	switch {
	case method == http.MethodGet && named:
		return "get"
	case method == http.MethodGet && watched:
		return "watch"
	case method == http.MethodGet:
		return "list"
	case method == http.MethodPost && (!named || r.Subresource == "binding"):
		return "create"
	case method == http.MethodPut && named:
		return "update"
	case method == http.MethodPatch && named:
		return "patch"
	case method == http.MethodDelete && named && r.Subresource == "":
		return "delete"
	case method == http.MethodDelete && !named:
		return "deletecollection"
	}
	return ""
}

// serve executes a request.
func (s *Server) serve(ctx context.Context, r *Request) (answer, error) {
	if r.accept != "" && !strings.Contains(r.accept, "json") && !strings.Contains(r.accept, "*/*") {
		return answer{}, generic(http.StatusNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "+
				"application/vnd.kubernetes.protobuf")
	}
	if r.Subresource != "" && !r.kind.hasSubresource(r.Subresource) {
		if r.kind.custom {
			return answer{}, r.kind.notFound(r.Name)
		}
		return answer{}, noResource()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Subresource == "binding" {
		if r.Verb != "create" {
			return answer{}, noMethod()
		}
		return s.serveBind(r)
	}
	switch r.Verb {
	case "create":
		return s.serveCreate(r)
	case "get":
		return s.serveGet(r)
	case "list":
		return s.serveList(r)
	case "watch":
		return s.serveWatch(ctx, r)
	case "update":
		return s.serveUpdate(r)
	case "patch":
		return s.servePatch(r)
	case "delete":
		return s.serveDelete(r)
	default:
		return s.serveDeleteCollection(r)
	}
}

func (k *kind) hasSubresource(name string) bool {
	return name == "status" && k.updateStatus != nil || name == "finalize" && k.Resource == "namespaces" ||
		name == "binding" && k.Resource == "pods"
}

// refuse returns the answer to a failed request.
func refuse(hr *http.Request, err error) (*http.Response, error) {
	if errors.Is(err, errNoPage) {
		response := respond(hr, answer{code: http.StatusNotFound, body: []byte("404 page not found\n")})
		response.Header.Set("Content-Type", "text/plain; charset=utf-8")
		return response, nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil, err
	}
	response := respond(hr, failure(status))
	if after, _ := apierrors.SuggestsClientDelay(err); after > 0 {
		response.Header.Set("Retry-After", strconv.Itoa(after))
	}
	return response, nil
}

func respond(hr *http.Request, a answer) *http.Response {
	response := &http.Response{
		Status:        strconv.Itoa(a.code) + " " + http.StatusText(a.code),
		StatusCode:    a.code,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {runtime.ContentTypeJSON}},
		ContentLength: int64(len(a.body)),
		Request:       hr,
	}
	if a.watch != nil {
		response.Body, response.ContentLength = a.watch, -1
	} else {
		response.Body = io.NopCloser(bytes.NewReader(a.body))
	}
	return response
}
