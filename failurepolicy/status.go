package failurepolicy

import (
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StatusRequirement is a requirement on the reasons and messages in the status of a failed pod: that
// of the pod, such as Evicted, and those of its containers that have failed, such as OOMKilled. One of
// them must have one of the reasons, if there are any, and a message that matches one of the patterns,
// if there are any.
type StatusRequirement struct {
	Reasons []string `json:"reasons,omitempty"`
	// MessagePatterns lists regular expressions (RE2). One of them must match a part of the message.
	MessagePatterns []string `json:"messagePatterns,omitempty"`
}

// Prepare returns the policy in which OnStatus is the Matcher of each rule that has it. Match is then
// fast. It returns errors for patterns that are not valid, and for requirements without a reason and a
// pattern. path returns the path to OnStatus of a rule; nil is the position of the rule. s does not change.
func (s *Spec) Prepare(path func(rule int) *field.Path) (*Spec, field.ErrorList) {
	out := s.DeepCopy()
	if out == nil {
		return nil, nil
	}
	if path == nil {
		path = (*field.Path)(nil).Index
	}
	var errs field.ErrorList
	for i := range out.Rules {
		if on := out.Rules[i].OnStatus; on != nil {
			m, list := on.matcher(path(i))
			errs = append(errs, list...)
			out.Rules[i].Matcher = m
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

func (r *StatusRequirement) matcher(path *field.Path) (Matcher, field.ErrorList) {
	var errs field.ErrorList
	if len(r.Reasons) == 0 && len(r.MessagePatterns) == 0 {
		errs = append(errs, field.Required(path, "at least one reason or pattern"))
	}
	patterns := make([]*regexp.Regexp, len(r.MessagePatterns))
	for i, text := range r.MessagePatterns {
		var err error
		patterns[i], err = regexp.Compile(text)
		if err != nil {
			errs = append(errs, field.Invalid(path.Child("messagePatterns").Index(i), text, err.Error()))
		}
	}
	meets := func(reason, message string) bool {
		matches := func(p *regexp.Regexp) bool { return p.MatchString(message) }
		return (len(r.Reasons) == 0 || slices.Contains(r.Reasons, reason)) &&
			(len(patterns) == 0 || slices.ContainsFunc(patterns, matches))
	}
	return func(pod *corev1.Pod) (string, bool) {
		if s := &pod.Status; meets(s.Reason, s.Message) {
			return fmt.Sprintf("reason %q", s.Reason), true
		}
		for name, end := range failed(pod) {
			if meets(end.Reason, end.Message) {
				return fmt.Sprintf("reason %q of container %s", end.Reason, name), true
			}
		}
		return "", false
	}, errs
}
