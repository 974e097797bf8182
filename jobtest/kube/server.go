package kube

import (
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Server is a kube-apiserver in process. Its zero value is not usable; see [New].
// It may be used by several goroutines at once.
type Server struct {
	hooks struct {
		sync.RWMutex
		intercept func(*Request) Verdict
	}

	mu       sync.Mutex // guards everything below
	kinds    []*kind
	byPath   map[schema.GroupVersionResource]*kind
	revision int64
	made     uint64 // the number of objects so far
	names    *rand.Rand
	observe  func(Change)
	watches  map[*watch]struct{}
	caches   []*Cache
}

// Options of a server. The zero value is ready to use.
type Options struct {
	// Seed determines the suffixes of generated names.
	Seed uint64
	// Kinds are custom resources, served in addition to the built-in kinds.
	Kinds []Kind
}

// New returns a server with the namespaces that every cluster has.
func New(o Options) *Server {
	s := &Server{
		byPath:  map[schema.GroupVersionResource]*kind{},
		names:   rand.New(rand.NewPCG(o.Seed, 0)),
		watches: map[*watch]struct{}{},
	}
	for _, k := range builtIn() {
		s.add(k)
	}
	s.add(newerEvents(s.byPath[corev1.SchemeGroupVersion.WithResource("events")]))
	for _, k := range o.Kinds {
		s.add(custom(k))
	}
	namespaces := s.byPath[corev1.SchemeGroupVersion.WithResource("namespaces")]
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic,
		"kube-node-lease"} {
		// The creation cannot fail, because the names are valid and unused.
		_, _ = s.create(namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil)
	}
	return s
}

func (s *Server) add(k *kind) {
	k.s = s
	if k.table == nil {
		k.table = &table{objects: map[string]*version{}}
	}
	s.kinds = append(s.kinds, k)
	s.byPath[k.gvr()] = k
}

// Config is for any client of the server: a clientset, a dynamic client, a
// client or a manager of controller-runtime. It sets no limit of requests.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: "http://kube-apiserver", Transport: s, QPS: -1}
}

// ConfigFor is like Config, for a client with a function of its own. It decides about the
// requests of the client instead of the function that Intercept has set.
func (s *Server) ConfigFor(intercept func(*Request) Verdict) *rest.Config {
	config := s.Config()
	config.Transport = intercepted{s, intercept}
	return config
}

// RESTMapper returns a mapper for all kinds of the server. It makes no requests.
func (s *Server) RESTMapper() meta.RESTMapper {
	var versions []schema.GroupVersion
	for _, k := range s.kinds {
		versions = append(versions, k.GroupVersionKind.GroupVersion())
	}
	m := meta.NewDefaultRESTMapper(versions)
	for _, k := range s.kinds {
		scope := meta.RESTScopeNamespace
		if k.ClusterScoped {
			scope = meta.RESTScopeRoot
		}
		gv := k.GroupVersionKind.GroupVersion()
		m.AddSpecific(k.GroupVersionKind, gv.WithResource(k.Resource), gv.WithResource(k.singular()), scope)
	}
	return m
}

// Revision is the resource version of the last change.
func (s *Server) Revision() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// stamp returns the current time truncated to seconds, as in stored objects.
func (s *Server) stamp() metav1.Time { return metav1.NewTime(time.Now().UTC().Truncate(time.Second)) }

// suffixLetters holds the characters of generated suffixes: no vowels, and no characters that
// look alike.
const suffixLetters = "bcdfghjklmnpqrstvwxz2456789"

// suffixLength and longestBase limit names to 63 characters.
const suffixLength, longestBase = 5, 58

// newName generates a name that is unused in the namespace.
func (s *Server) newName(k *kind, namespace, base string) string {
	base = base[:min(len(base), longestBase)]
	for {
		suffix := make([]byte, suffixLength)
		for i := range suffix {
			suffix[i] = suffixLetters[s.names.IntN(len(suffixLetters))]
		}
		name := base + string(suffix)
		if k.objects[key(namespace, name)] == nil {
			return name
		}
	}
}
