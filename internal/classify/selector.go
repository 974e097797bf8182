package classify

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// selector is a Job's label selector. Nearly always it is the one label that the API server
// generates, the UID of the Job. A selector of labels alone needs one lookup for each label,
// where labels.Selector needs two.
type selector struct {
	labels  []label         // the required labels
	general labels.Selector // any selector with expressions
}

type label struct{ key, value string }

// compileSelector compiles a selector. Nil gives an absent selector, which matches all
// labels. The generated label is not validated.
func compileSelector(s *metav1.LabelSelector, generated label) (selector, error) {
	if s == nil {
		return selector{}, nil
	}
	var valid []label
	for key, value := range s.MatchLabels {
		l := label{key, value}
		if l == generated || len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) == 0 {
			valid = append(valid, l)
		}
	}
	if len(valid) > 0 && len(valid) == len(s.MatchLabels) && len(s.MatchExpressions) == 0 {
		return selector{labels: valid}, nil
	}
	general, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return selector{}, fmt.Errorf("spec.selector: %w", err)
	}
	return selector{general: general}, nil
}

// absent reports whether there is no selector.
func (s *selector) absent() bool { return s.labels == nil && s.general == nil }

// matches reports whether the labels match. An absent selector matches all labels.
func (s *selector) matches(set labels.Set) bool {
	for _, want := range s.labels {
		if value, ok := set[want.key]; !ok || value != want.value {
			return false
		}
	}
	return s.general == nil || s.general.Matches(set)
}
