// Package kubefile reads Jobs and their pods from what kubectl prints.
//
// The input is YAML or JSON: single objects, lists (List, JobList, PodList), or several
// documents, in one file or in many, in any order. Events and Nodes are kept, and objects of
// other kinds are counted. Pods of other Jobs are kept as well, because ownership takes more
// than reading to find out.
//
// YAML is converted to JSON by kubectl's parser, except that duplicate keys are errors. A
// second parser finds the lines and columns of fields.
//
// Truncated or damaged input is rejected as a whole, because a decision about a part of the
// pods would be wrong without looking wrong. The error names the file, document, item and
// field.
//
// The package knows nothing of decisions: only files, and the objects in them.
package kubefile

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Source is a file, or something else to read from, with its name.
type Source struct {
	Name string
	io.Reader
	// Size is the number of bytes, if it is known.
	Size int
	// Progress, if set, is called repeatedly while a large text is read. kind is YAML or
	// JSON, and done the number of bytes that have been read.
	Progress func(kind string, done, total int)
}

// Input is Jobs and their pods, with their places.
type Input struct {
	// Jobs are in the order of the input; there is at least one.
	Jobs []*Manifest
	// Pods are all pods of the input in their order, and PodsAt their places.
	Pods   []*corev1.Pod
	PodsAt []Place
	// Events and Nodes may explain why a pod does not run.
	Events []*corev1.Event
	Nodes  []*corev1.Node
	// Skipped counts the objects of other kinds.
	Skipped Kinds
}

// Kinds counts objects by their kind.
type Kinds map[string]int

// String returns the kinds in alphabetical order: "ConfigMap, Service (2)".
func (k Kinds) String() string {
	out := slices.Sorted(maps.Keys(k))
	for i, kind := range out {
		if n := k[kind]; n > 1 {
			out[i] = fmt.Sprintf("%s (%d)", kind, n)
		}
	}
	return strings.Join(out, ", ")
}

// Read reads Jobs and their pods. An error of a source names it.
func Read(sources ...Source) (*Input, error) {
	return read(sources, "a Job and its pods", func(in *Input, o object) error {
		if o.Kind == "Job" {
			return cmp.Or(o.complete(), in.add(o))
		}
		return in.add(o)
	})
}

// ReadStart reads the Job with which a simulation starts: a new one, or an existing one with
// its status and pods.
func ReadStart(sources ...Source) (*Input, error) {
	in, err := read(sources, "a Job", (*Input).add)
	if err == nil && len(in.Jobs) > 1 {
		return nil, fmt.Errorf("%s is a second Job; the first is %s", in.Jobs[1].At, in.Jobs[0].At)
	}
	return in, err
}

// ReadManifests reads the Jobs of the sources and the templates of CronJobs, with all their
// problems. There must be at least one. Other objects are counted.
func ReadManifests(sources ...Source) (*Input, error) {
	return read(sources, "a Job", func(in *Input, o object) error {
		switch o.Kind {
		case "Job":
			in.Jobs = append(in.Jobs, o.manifest())
		case "CronJob":
			in.Jobs = append(in.Jobs, o.template())
		default:
			in.Skipped[o.Kind]++
		}
		return nil
	})
}

// ReadDocument reads a source with a single document, and passes its JSON to decode. If decode
// fails, the error names the line of the field that decode rejects. want says what the source
// should contain, for errors.
func ReadDocument(s Source, want string, decode func([]byte) error) (at Place, err error) {
	err = each(s, want, func(o object) error {
		switch {
		case at.Document > 0:
			return fmt.Errorf("%s: a second document; want %s", o.at.At(""), want)
		case o.Kind != "":
			return fmt.Errorf("%s is a %s; want %s", o.at, o.Kind, want)
		}
		at = o.at
		return firstOf(o.problems(decode), at)
	})
	if err == nil && at.Document == 0 {
		err = fmt.Errorf("%s: an empty list; want %s", s.Name, want)
	}
	return at, err
}

// read calls add with each object. There must be at least one Job.
func read(sources []Source, want string, add func(*Input, object) error) (*Input, error) {
	in, kinds := &Input{Skipped: Kinds{}}, Kinds{}
	var names []string
	for _, s := range sources {
		names = append(names, s.Name)
		err := each(s, want, func(o object) error {
			kinds[o.Kind]++
			if err := o.check(want); err != nil {
				return err
			}
			return add(in, o)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(in.Jobs) > 0 {
		return in, nil
	}
	only := ""
	if len(kinds) > 0 {
		only = ", only " + kinds.String()
	}
	return nil, fmt.Errorf("%s: the input has no Job%s; want %s", strings.Join(names, ", "), only, want)
}
