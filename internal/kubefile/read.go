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
	Evidence
	// Skipped counts the objects of other kinds.
	Skipped Kinds
}

// Evidence is other objects of the input that may explain why a pod does not run.
type Evidence struct {
	Events []*corev1.Event
	Nodes  []*corev1.Node
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
			if err := o.complete(); err != nil {
				return err
			}
		}
		return in.add(o)
	})
}

// ReadStart reads the Job with which a simulation starts: a new one, or an existing one with
// its status and pods.
func ReadStart(sources ...Source) (*Input, error) {
	return read(sources, "a Job", func(in *Input, o object) error {
		if o.Kind == "Job" && len(in.Jobs) > 0 {
			return fmt.Errorf("%s is a second Job; the first is %s", o.at, in.Jobs[0].At)
		}
		return in.add(o)
	})
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
		return firstOf(problemsIn(o.json, decode), at)
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
			if err := o.check(want); err != nil {
				return err
			}
			kinds[o.Kind]++
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

// add adds an object to the input.
func (in *Input) add(o object) error {
	switch o.APIVersion + " " + o.Kind {
	case "v1 Pod":
		if o.pod == nil {
			return cmp.Or(o.complete(), o.decode(new(corev1.Pod)))
		}
		in.Pods, in.PodsAt = append(in.Pods, o.pod), append(in.PodsAt, o.at)
	case "batch/v1 Job":
		m := o.manifest()
		in.Jobs = append(in.Jobs, m)
		return firstOf(m.Problems, o.at)
	case "v1 Event":
		in.Events = append(in.Events, &corev1.Event{})
		return o.decode(in.Events[len(in.Events)-1])
	case "v1 Node":
		in.Nodes = append(in.Nodes, &corev1.Node{})
		return o.decode(in.Nodes[len(in.Nodes)-1])
	default:
		in.Skipped[o.Kind]++
	}
	return nil
}
