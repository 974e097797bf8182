package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	watchapi "k8s.io/apimachinery/pkg/watch"
)

// version is a stored version of an object. It is immutable.
type version struct {
	obj      Object
	revision int64
	// body is its JSON without kind, API version and resource version; it begins
	// with the metadata.
	body []byte
}

// Event is a change of an object, in the history of its kind.
type Event struct {
	// Type is Added, Modified or Deleted; a watch also sees Bookmark and Error.
	Type     watchapi.EventType
	Revision int64
	// Object is the object after the change, or its last version if it was deleted. It must
	// not be changed.
	Object Object

	old, now *version
}

// Change is a change that an observer gets.
type Change struct {
	// Request is the request that caused the change; nil for an actor.
	Request *Request
	// Old and New are the versions before and after the change; Old is nil for a creation
	// and New for a removal. They must not be changed.
	Old, New Object
}

// Observe sets the function that is called for every change. It must not call the server,
// which holds a lock during the call.
func (s *Server) Observe(f func(Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observe = f
}

func key(namespace, name string) string { return namespace + "/" + name }

func keyOf(obj Object) string { return key(obj.GetNamespace(), obj.GetName()) }

func (k *kind) all() []Object {
	objects := make([]Object, 0, len(k.keys))
	for _, key := range k.keys {
		objects = append(objects, k.objects[key].obj)
	}
	return objects
}

// put stores the next version of an object, takes ownership of it, and returns it. If
// nothing has changed, put returns the old version.
func (k *kind) put(old *version, next Object, r *Request) (*version, error) {
	next.SetResourceVersion("")
	body, err := encode(next)
	if err != nil {
		return nil, err
	}
	if old != nil && bytes.Equal(old.body, body) {
		return old, nil
	}
	now := &version{obj: next, body: body, revision: k.s.advance()}
	next.SetResourceVersion(strconv.FormatInt(now.revision, 10))
	id := keyOf(next)
	change := watchapi.Modified
	if old == nil {
		change = watchapi.Added
		at, _ := slices.BinarySearch(k.keys, id)
		k.keys = slices.Insert(k.keys, at, id)
	}
	k.objects[id] = now
	k.record(Event{Type: change, Revision: now.revision, Object: next, old: old, now: now}, r)
	return now, nil
}

// drop removes an object.
func (k *kind) drop(old *version, r *Request) *version {
	last := &version{obj: old.obj.DeepCopyObject().(Object), body: old.body, revision: k.s.advance()}
	last.obj.SetResourceVersion(strconv.FormatInt(last.revision, 10))
	id := keyOf(old.obj)
	delete(k.objects, id)
	if at, found := slices.BinarySearch(k.keys, id); found {
		k.keys = slices.Delete(k.keys, at, at+1)
	}
	k.record(Event{Type: watchapi.Deleted, Revision: last.revision, Object: last.obj, old: old, now: last}, r)
	return last
}

func (s *Server) advance() int64 {
	s.revision++
	return s.revision
}

func (k *kind) record(e Event, r *Request) {
	k.events = append(k.events, e)
	if k.s.observe != nil {
		c := Change{Request: r, New: e.Object}
		if e.old != nil {
			c.Old = e.old.obj
		}
		if e.Type == watchapi.Deleted {
			c.New = nil
		}
		k.s.observe(c)
	}
	for w := range k.s.watches {
		if w.kind.table == k.table {
			w.wake()
		}
	}
}

// since returns the events after a revision.
func (k *kind) since(revision int64) []Event {
	at, _ := slices.BinarySearchFunc(k.events, revision+1, func(e Event, r int64) int { return int(e.Revision - r) })
	return k.events[at:]
}

// at returns the objects at a revision that is not compacted, by key.
func (k *kind) at(revision int64) map[string]*version {
	state := maps.Clone(k.objects)
	for _, e := range slices.Backward(k.since(revision)) {
		if e.old == nil {
			delete(state, keyOf(e.Object))
		} else {
			state[keyOf(e.Object)] = e.old
		}
	}
	return state
}

// Compact removes the history up to a revision, as etcd does every few minutes. New watches
// and lists that need it get 410 Gone. Open watches and caches are not affected.
func (s *Server) Compact(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	revision = min(revision, s.revision)
	for _, k := range s.kinds {
		k.compacted = max(k.compacted, revision)
		unread := revision
		for w := range s.watches {
			if w.kind.table == k.table {
				unread = min(unread, w.seen)
			}
		}
		for _, c := range s.caches {
			unread = min(unread, c.views[k].upto)
		}
		k.events = slices.Clone(k.since(unread))
	}
}

// encode returns the JSON of an object. The caller has cleared kind, API version and
// resource version.
func encode(obj Object) ([]byte, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return json.Marshal(obj)
	}
	metadata, err := json.Marshal(u.Object["metadata"])
	if err != nil {
		return nil, err
	}
	rest := make(map[string]any, len(u.Object))
	for name, value := range u.Object {
		if name != "metadata" && name != "apiVersion" && name != "kind" {
			rest[name] = value
		}
	}
	others, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	body := append([]byte(metadataPrefix), metadata[1:]...)
	if len(rest) == 0 {
		return append(body, '}'), nil
	}
	return append(append(body, ','), others[1:]...), nil
}

const metadataPrefix = `{"metadata":{`

// appendJSON appends a version as the API returns it. Items of lists of built-in kinds have
// no kind and API version.
func (k *kind) appendJSON(to []byte, v *version, inList bool) []byte {
	body := v.body
	if k.shown != nil {
		body = k.shownBody(v)
	}
	to = append(to, '{')
	if !inList || k.custom {
		to = fmt.Appendf(to, `"kind":%q,"apiVersion":%q,`, k.GroupVersionKind.Kind, k.GroupVersionKind.GroupVersion())
	}
	to = fmt.Appendf(to, `"metadata":{"resourceVersion":"%d",`, v.revision)
	return append(to, body[len(metadataPrefix):]...)
}

// shownBody returns the body of a version as another kind.
func (k *kind) shownBody(v *version) []byte {
	obj := k.shown(v.obj)
	obj.SetResourceVersion("")
	body, err := encode(obj)
	if err != nil { // cannot happen: it was encoded before
		return v.body
	}
	return body
}

// metadataOnly returns a version as PartialObjectMetadata.
func metadataOnly(v *version) ([]byte, error) {
	var parts struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(v.body, &parts); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil,
		`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"%d",%s}`,
		v.revision, parts.Metadata[1:]), nil
}

func (s *Server) kindOf(gvk schema.GroupVersionKind) *kind {
	for _, k := range s.kinds {
		if k.GroupVersionKind == gvk {
			return k
		}
	}
	return nil
}
