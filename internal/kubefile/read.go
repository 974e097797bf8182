package kubefile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Source is a file, or something else to read from, with its name.
type Source struct {
	Name string
	io.Reader
}

// Input is a Job and its pods, with the places where they stand.
type Input struct {
	Job   *batchv1.Job
	JobAt Place
	// Pods are all pods of the input in their order, and PodsAt their places.
	Pods   []*corev1.Pod
	PodsAt []Place
	// RuleNames are the names of the rules of the Job's pod failure policy, as a
	// cluster with KEP-4443 stores them; nil when no rule has one.
	RuleNames []string
	// Unknown are the fields of the Job that the API does not have as far as
	// this program knows, those of the pod template left out.
	Unknown []string
}

var errNoJob = errors.New("there is no Job in it; want a Job and its pods")

// Read reads a Job and its pods. An error of a source names it.
func Read(sources ...Source) (*Input, error) {
	in := &Input{}
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name
		if err := each(s, "a Job and its pods", in.add); err != nil {
			return nil, err
		}
	}
	if in.Job == nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(names, ", "), errNoJob)
	}
	return in, nil
}

// each calls add with each object of a source, those in lists included. want is
// what an error says should be there.
func each(s Source, want string, add func(object) error) error {
	in := bufio.NewReaderSize(s, large)
	if _, err := in.Peek(large); err == nil {
		return eachLarge(s, in, want, add)
	}
	return eachSmall(s, in, want, add)
}

func eachSmall(s Source, in io.Reader, want string, add func(object) error) error {
	all, err := chunks(in)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	at := Place{File: s.Name}
	for _, c := range all {
		documents, err := c.documents()
		for _, d := range documents {
			at.Document++
			at.text = d.text
			if err := eachIn(d.value, at, want, add); err != nil {
				return err
			}
		}
		if err != nil {
			at.Document++
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if at.Document == 0 {
		return fmt.Errorf("%s: it is empty; want %s", s.Name, want)
	}
	return nil
}

// eachIn calls add with the object of a document, or with the items of its list.
func eachIn(value json.RawMessage, at Place, want string, add func(object) error) error {
	h, err := readHeader(value, at, want)
	if err != nil {
		return err
	}
	element, ok := lists[h.typeOf()]
	if !ok {
		return add(object{header: h, value: value, at: at})
	}
	for i, item := range h.Items {
		at := at
		at.Item = i + 1
		at.text = &text{bytes: at.text.bytes, line: at.text.line, prefix: fmt.Sprintf("items[%d].", i)}
		h, err := readHeader(item, at, want)
		if err != nil {
			return err
		}
		if h.Kind == "" && h.APIVersion == "" {
			h.APIVersion, h.Kind = element.apiVersion, element.kind
		}
		if err := add(object{header: h, value: item, at: at}); err != nil {
			return err
		}
	}
	return nil
}

// add takes an object of a snapshot: the Job, or a pod.
func (in *Input) add(o object) error {
	if err := o.check("a Job and its pods", typeJob, typePod); err != nil {
		return err
	}
	if err := o.checkWhole(); err != nil {
		return err
	}
	if o.typeOf() == typePod {
		pod, err := o.pod()
		if err != nil {
			return err
		}
		in.Pods, in.PodsAt = append(in.Pods, pod), append(in.PodsAt, o.at)
		return nil
	}
	if in.Job != nil {
		return fmt.Errorf("%s is a second Job; the first is %s", o.at, in.JobAt)
	}
	m, err := o.job()
	if err != nil {
		return err
	}
	in.Job, in.JobAt, in.RuleNames, in.Unknown = m.Job, m.At, m.RuleNames, m.Unknown
	return nil
}
