package owner

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// selector is a Job's label selector. Nearly always it is the one label that the API server
// generates, the UID of the Job. Such a selector, and any of a few labels, is compiled
// nearly without allocating, and needs one lookup for each label where labels.Selector needs two.
type selector struct {
	labels  [fewLabels]label // the required labels; an empty key ends the list
	general labels.Selector  // any other selector
}

type label struct{ key, value string }

const fewLabels = 4

// compileSelector compiles a selector. Nil gives an absent selector, which matches all
// labels. The generated label is not validated.
func compileSelector(s *metav1.LabelSelector, generated label) (selector, error) {
	if s == nil {
		return selector{}, nil
	}
	if few, ok := compileLabels(s, generated); ok {
		return few, nil
	}
	general, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return selector{}, fmt.Errorf("spec.selector: %w", err)
	}
	return selector{general: general}, nil
}

// compileLabels compiles a selector of a few labels that are all valid.
func compileLabels(s *metav1.LabelSelector, generated label) (c selector, ok bool) {
	n := len(s.MatchLabels)
	if n == 0 || n > fewLabels || len(s.MatchExpressions) > 0 {
		return selector{}, false
	}
	for key, value := range s.MatchLabels {
		l := label{key, value}
		if l != generated && len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) > 0 {
			return selector{}, false
		}
		n--
		c.labels[n] = l
	}
	return c, true
}

// absent reports whether there is no selector.
func (s *selector) absent() bool { return s.labels[0].key == "" && s.general == nil }

// matches reports whether the labels match. An absent selector matches all labels.
func (s *selector) matches(set labels.Set) bool {
	for i := range s.labels {
		want := &s.labels[i]
		if want.key == "" {
			break
		}
		if value, ok := set[want.key]; !ok || value != want.value {
			return false
		}
	}
	return s.general == nil || s.general.Matches(set)
}
