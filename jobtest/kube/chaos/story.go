package chaos

import (
	"encoding/json"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/jobfate/jobfate/jobtest/kube"
)

// story returns the report.
func (s *schedule) story(again string) string {
	r := s.Report(again)
	r.End = []string{"at the end:"}
	if s.want == "" {
		r.Notes = "It happens without faults."
	}
	for _, kind := range s.seen() {
		for _, o := range s.server.Objects(kind) {
			r.End = append(r.End, "  "+s.line(o))
		}
	}
	return r.String()
}

// mentionLagging logs the changes that the cache does not show.
func (s *schedule) mentionLagging() {
	if !s.Log.On {
		return
	}
	const most = 6
	var lines []string
	for _, kind := range s.seen() {
		for _, e := range s.p.cache.Lagging(kind) {
			line := s.line(e.Object)
			if e.Type == "DELETED" {
				line = nameOf(e.Object) + " is gone"
			}
			lines = append(lines, "its cache does not show: "+line)
		}
	}
	if left := len(lines) - most; left > 1 {
		lines = append(lines[:most], fmt.Sprintf("nor %d later changes", left))
	}
	for _, line := range lines {
		s.Log.Mention("%s", line)
	}
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

func nameOf(o client.Object) string {
	return gvkOf(o).Kind + " " + client.ObjectKeyFromObject(o).String()
}

// gvkOf returns the kind of an object as the server stores it.
func gvkOf(o client.Object) schema.GroupVersionKind {
	gvk, _ := apiutil.GVKForObject(o, scheme.Scheme) // the scheme has all of these types
	return gvk
}
