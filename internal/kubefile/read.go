package kubefile

import (
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
		if err := in.add(s); err != nil {
			return nil, err
		}
	}
	if in.Job == nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(names, ", "), errNoJob)
	}
	return in, nil
}

func (in *Input) add(s Source) error {
	all, err := chunks(s)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	at := Place{File: s.Name}
	for _, c := range all {
		values, err := c.values()
		for _, value := range values {
			at.Document++
			if err := in.addDocument(value, at); err != nil {
				return err
			}
		}
		if err != nil {
			at.Document++
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if at.Document == 0 {
		return fmt.Errorf("%s: it is empty; want a Job and its pods", s.Name)
	}
	return nil
}

func (in *Input) addDocument(value json.RawMessage, at Place) error {
	h, err := readHeader(value, at)
	if err != nil {
		return err
	}
	element, ok := lists[h.typeOf()]
	if !ok {
		return in.addObject(h, value, at)
	}
	for _, item := range h.Items {
		at.Item++
		h, err := readHeader(item, at)
		if err != nil {
			return err
		}
		if h.Kind == "" && h.APIVersion == "" {
			h.APIVersion, h.Kind = element.apiVersion, element.kind
		}
		if err := in.addObject(h, item, at); err != nil {
			return err
		}
	}
	return nil
}

func (in *Input) addObject(h header, value json.RawMessage, at Place) error {
	if err := h.check(at); err != nil {
		return err
	}
	if h.typeOf() == typePod {
		pod, err := decodePod(value, at)
		if err != nil {
			return err
		}
		in.Pods, in.PodsAt = append(in.Pods, pod), append(in.PodsAt, at)
		return nil
	}
	if in.Job != nil {
		return fmt.Errorf("%s is a second Job; the first is %s", at, in.JobAt)
	}
	return in.setJob(value, at)
}
