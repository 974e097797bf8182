package tracking

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// selector is a Job's label selector. Nearly always it is the one label that the
// API server generates, the UID of the Job. Then it takes one look into a pod's
// labels where labels.Selector takes two, and compiles without allocating.
type selector struct {
	key, value string          // the one label, when the key is not empty
	general    labels.Selector // any other
}

// compileSelector reads a selector; nil selects everything.
func compileSelector(s *metav1.LabelSelector) (selector, error) {
	if s == nil {
		return selector{}, nil
	}
	if len(s.MatchLabels) == 1 && len(s.MatchExpressions) == 0 {
		for key, value := range s.MatchLabels {
			if plainLabel(key, value) {
				return selector{key: key, value: value}, nil
			}
		}
	}
	general, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return selector{}, fmt.Errorf("spec.selector: %w", err)
	}
	return selector{general: general}, nil
}

// absent reports whether there is no selector.
func (s *selector) absent() bool { return s.key == "" && s.general == nil }

// matches reports whether the labels match; they do when there is no selector.
func (s *selector) matches(set labels.Set) bool {
	if s.key != "" {
		value, ok := set[s.key]
		return ok && value == s.value
	}
	return s.general == nil || s.general.Matches(set)
}

// plainLabel reports whether a label is valid beyond doubt. Whether any other is
// valid, and what is wrong with it, is for the API's own rules to say.
func plainLabel(key, value string) bool {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "x", key
	}
	return len(prefix) <= 63 && plain(prefix, false) && len(name) <= 63 && plain(name, true) &&
		len(value) <= 63 && (value == "" || plain(value, true))
}

// plain reports whether a text consists of letters and digits, and of single
// dots and dashes between them.
func plain(text string, upper bool) bool {
	inside := false // the last was a letter or digit
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
