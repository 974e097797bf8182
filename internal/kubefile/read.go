// Package kubefile reads Jobs and their pods from what kubectl prints.
//
// The input is YAML or JSON: single objects, lists (List, JobList, PodList), or
// several documents one after the other, in one file or in many, in any order.
// Events and Nodes are kept, objects of other kinds are counted. Pods of other
// Jobs are kept too: to find out which Job owns a pod takes more than reading.
//
// Half of a snapshot is refused, because a decision on it is wrong without looking
// so. The error says where: file, document, item, field.
package kubefile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/document"
)

// Source is a file, or something else to read from, with its name.
type Source = document.Source

// Place is where in a source an object stands.
type Place = document.Place

// Input is Jobs and their pods, with the places where they stand.
type Input struct {
	// Jobs are in the order of the input, one at least.
	Jobs []*Manifest
	// Pods are all pods of the input in their order, and PodsAt their places.
	Pods   []*corev1.Pod
	PodsAt []Place
	Evidence
	// Skipped counts the objects of other kinds.
	Skipped Kinds
}

// Evidence is what else the input has that may tell why a pod does not run.
type Evidence struct {
	Events []*corev1.Event
	Nodes  []*corev1.Node
}

// Kinds counts objects by their kind.
type Kinds map[string]int

// String returns the kinds in the order of the alphabet: "ConfigMap, Service (2)".
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
	return read(sources, "a Job and its pods", (*Input).add)
}

// ReadStart reads a Job from which a simulation starts: one that was just written,
// or one that exists, with its status and pods.
func ReadStart(sources ...Source) (*Input, error) {
	return read(sources, "a Job", func(in *Input, o object) error {
		if o.TypeMeta == typeJob {
			if len(in.Jobs) > 0 {
				return fmt.Errorf("%s is a second Job; the first is %s", o.at, in.Jobs[0].At)
			}
			o.Spec, o.Status = new(struct{}), new(struct{}) // what is missing is refused where it is needed
		}
		return in.add(o)
	})
}

// ReadManifests reads the Jobs of the sources and the templates of CronJobs, one
// at least, with all that is wrong with them. Other objects are counted.
func ReadManifests(sources ...Source) (*Input, error) {
	return read(sources, "a Job", func(in *Input, o object) error {
		switch o.TypeMeta {
		case typeJob:
			in.Jobs = append(in.Jobs, o.manifest())
		case typeCronJob:
			in.Jobs = append(in.Jobs, o.template())
		default:
			in.Skipped[o.Kind]++
		}
		return nil
	})
}

// read calls add with each object. There must be a Job.
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
	return nil, fmt.Errorf("%s: there is no Job in it%s; want %s", strings.Join(names, ", "), only, want)
}

// add takes an object of a snapshot.
func (in *Input) add(o object) error {
	switch o.TypeMeta {
	case typePod:
		if err := o.checkWhole(); err != nil {
			return err
		}
		if o.pod == nil {
			return o.decode(new(corev1.Pod))
		}
		in.Pods, in.PodsAt = append(in.Pods, o.pod), append(in.PodsAt, o.at)
		return nil
	case typeJob:
		if err := o.checkWhole(); err != nil {
			return err
		}
		m := o.manifest()
		in.Jobs = append(in.Jobs, m)
		return firstOf(m.Problems, o.at)
	case typeEvent:
		in.Events = append(in.Events, &corev1.Event{})
		return o.decode(in.Events[len(in.Events)-1])
	case typeNode:
		in.Nodes = append(in.Nodes, &corev1.Node{})
		return o.decode(in.Nodes[len(in.Nodes)-1])
	}
	in.Skipped[o.Kind]++
	return nil
}
