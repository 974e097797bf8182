package owner

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// selector is a Job's label selector. Nearly always it is the one label that the API server
// generates, the UID of the Job. Such a selector, and any of a few labels, is compiled
// without allocating, and needs one lookup for each label where labels.Selector needs two.
type selector struct {
	labels  [fewLabels]label // the required labels; an empty key ends the list
	general labels.Selector  // any other selector
}

type label struct{ key, value string }

const fewLabels = 4

// compileSelector compiles a selector. Nil gives an absent selector, which matches all
// labels.
func compileSelector(s *metav1.LabelSelector) (selector, error) {
	if s == nil {
		return selector{}, nil
	}
	if few, ok := compileLabels(s); ok {
		return few, nil
	}
	general, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return selector{}, fmt.Errorf("spec.selector: %w", err)
	}
	return selector{general: general}, nil
}

// compileLabels compiles a selector of a few labels that are all plain.
func compileLabels(s *metav1.LabelSelector) (c selector, ok bool) {
	n := len(s.MatchLabels)
	if n == 0 || n > fewLabels || len(s.MatchExpressions) > 0 {
		return selector{}, false
	}
	for key, value := range s.MatchLabels {
		if !plainLabel(key, value) {
			return selector{}, false
		}
		n--
		c.labels[n] = label{key, value}
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

// plainLabel reports whether a label is certainly valid. All other labels are left to the
// API's own validation.
func plainLabel(key, value string) bool {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "x", key
	}
	return len(prefix) <= 63 && plain(prefix, false) && len(name) <= 63 && plain(name, true) &&
		len(value) <= 63 && (value == "" || plain(value, true))
}

// plain reports whether a text consists of letters and digits, with single dots or dashes
// between them. upper allows upper-case letters.
func plain(text string, upper bool) bool {
	inside := false // the last character was a letter or digit
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', upper && 'A' <= c && c <= 'Z':
			inside = true
		case (c == '-' || c == '.') && inside:
			inside = false
		default:
			return false
		}
	}
	return inside
}
