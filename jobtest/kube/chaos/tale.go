package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/jobfate/jobfate/jobtest/kube"
)

// tale is the lines of a report. A step in which nothing happens leaves no line.
type tale struct {
	on      bool // for a report
	mu      sync.Mutex
	pending []string // lines that are told if something follows
	lines   []string
}

func (t *tale) begin(step int, name string, more []string) {
	if !t.on {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending = append([]string{fmt.Sprintf("%3d  %s  %s", step, time.Now().UTC().Format("15:04:05.000"), name)}, more...)
}

func (t *tale) meanwhile(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending = append(t.pending, "     meanwhile: "+name)
}

func (t *tale) say(format string, args ...any) {
	if !t.on {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(append(t.lines, t.pending...), "     "+fmt.Sprintf(format, args...))
	t.pending = nil
}

// story is the report, of at most 60 lines.
func (s *schedule) story(again string) string {
	const longest, first = 60, 10
	lines := []string{
		fmt.Sprintf("%s, %s: %s", s.broken.Property, s.broken.Meaning(), s.broken.Text),
		fmt.Sprintf("seed %d. To run it again:", s.seed),
		"  " + again,
	}
	if s.fickle {
		lines = append(lines, "It was found once, and not when the same schedule ran again: the controller depends on",
			"chance, as on the order of a map.")
	}
	if s.want == "" {
		lines = append(lines, "It happens without faults.")
	}
	end := []string{"in the end:"}
	for _, kind := range s.seen() {
		for _, o := range s.all(kind) {
			end = append(end, "  "+s.line(o))
		}
	}
	steps := s.tale.lines
	if most := max(longest-len(lines)-len(end), 2*first); len(steps) > most {
		left := len(steps) - most + 1
		steps = append(append(append([]string(nil), steps[:first]...), fmt.Sprintf("  ... %d lines are left out ...", left)), steps[first+left:]...)
	}
	return strings.Join(append(append(lines, steps...), end...), "\n") + "\n"
}

// late is what the cache does not show.
func (s *schedule) late() []string {
	if !s.told {
		return nil
	}
	const most = 6
	var lines []string
	for _, kind := range s.seen() {
		for _, e := range s.p.cache.Late(kind) {
			line := s.line(e.Object)
			if e.Type == "DELETED" {
				line = nameOf(e.Object) + " is gone"
			}
			lines = append(lines, "     its cache does not show: "+line)
		}
	}
	if left := len(lines) - most; left > 1 {
		lines = append(lines[:most], fmt.Sprintf("     nor %d later changes", left))
	}
	return lines
}

func (s *schedule) changeLine(c *kube.Change) string {
	switch {
	case c.New == nil:
		return nameOf(c.Old) + " is gone"
	case c.Old == nil:
		return "creates " + s.line(c.New)
	}
	return s.line(c.New)
}

// line describes an object.
func (s *schedule) line(o client.Object) string {
	words := []string{nameOf(o), string(o.GetUID())[:8]}
	switch o := o.(type) {
	case *batchv1.Job:
		if metav1.GetControllerOfNoCopy(o) != nil {
			words = append(words, "for "+s.Purpose(o))
		}
		for _, c := range o.Status.Conditions {
			words = append(words, fmt.Sprintf("%s(%s)", c.Type, c.Reason))
		}
	case *unstructured.Unstructured:
		if status, ok := o.Object["status"]; ok {
			text, _ := json.Marshal(status) // was decoded
			words = append(words, string(text))
		}
	}
	if o.GetDeletionTimestamp() != nil {
		words = append(words, "deleted")
	}
	return strings.Join(words, " ")
}

// all are the objects of a kind.
func (s *schedule) all(kind schema.GroupVersionKind) (all []kube.Object) {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(kind)
	s.stored.CatchUp()
	_ = s.stored.List(context.Background(), &list) // the kind is served
	for i := range list.Items {
		all = append(all, s.server.Object(kind, list.Items[i].GetNamespace(), list.Items[i].GetName()))
	}
	return all
}

func nameOf(o client.Object) string {
	return gvkOf(o).Kind + " " + client.ObjectKeyFromObject(o).String()
}

// gvkOf returns the kind of an object as the server stores it.
func gvkOf(o client.Object) schema.GroupVersionKind {
	gvk, _ := apiutil.GVKForObject(o, scheme.Scheme) // all of its Go types are known
	return gvk
}
