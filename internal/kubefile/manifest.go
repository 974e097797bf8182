package kubefile

import (
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	kjson "sigs.k8s.io/json"

	"github.com/jobfate/jobfate/failurepolicy"
)

// Manifest is a Job as it was written, or as the API server printed it.
type Manifest struct {
	Job *batchv1.Job
	At  Place
	// RuleNames are the names of the rules of the Job's pod failure policy, as a
	// cluster with KEP-4443 stores them; nil when no rule has one.
	RuleNames []string
	// Unknown are the fields of the Job that the API does not have as far as
	// this program knows, those of the pod template left out.
	Unknown []string
}

// ReadJobs reads the Jobs of the sources, at least one. They need no status. Other
// objects are skipped.
func ReadJobs(sources ...Source) ([]*Manifest, error) {
	const want = "a Job"
	var out []*Manifest
	skipped := Kinds{}
	for _, s := range sources {
		err := each(s, want, func(o object) error {
			if err := o.check(want, typeJob); err != nil {
				return err
			}
			if o.typeOf() != typeJob {
				skipped[o.Kind]++
				return nil
			}
			m, err := o.manifest()
			if err == nil {
				out = append(out, m)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, noJob(sources, skipped, want)
	}
	return out, nil
}

// manifest reads a Job, and the fields of it that are not known. A field may be
// from a later release, or misspelt; either way nothing is made of it.
func (o object) manifest() (*Manifest, error) {
	m := &Manifest{Job: &batchv1.Job{}, At: o.at}
	if err := o.decode(m.Job); err != nil {
		return nil, err
	}
	m.Job.Kind, m.Job.APIVersion = o.Kind, o.APIVersion
	strict, err := kjson.UnmarshalStrict(o.json, &batchv1.Job{})
	if err != nil {
		return nil, Problem{Message: plain(err)}.at(o.at)
	}
	for _, err := range strict {
		name, unknown := strings.CutPrefix(err.Error(), "unknown field ")
		if !unknown {
			return nil, Problem{Message: plain(err)}.at(o.at)
		}
		if name = strings.Trim(name, `"`); !known.MatchString(name) {
			m.Unknown = append(m.Unknown, name)
		}
	}
	m.RuleNames, err = o.ruleNames()
	return m, err
}

// known matches the fields that need no mention though the API type lacks them:
// the names of rules are read, and what the template says decides nothing.
var known = regexp.MustCompile(`^spec\.(template\..*|podFailurePolicy\.rules\[\d+\]\.name)$`)

// ruleNames returns the names of the rules of a Job's pod failure policy, nil
// when there are none.
func (o object) ruleNames() ([]string, error) {
	var named struct {
		Spec struct {
			PodFailurePolicy failurepolicy.Spec `json:"podFailurePolicy"`
		} `json:"spec"`
	}
	if err := o.decode(&named); err != nil {
		return nil, err
	}
	rules := named.Spec.PodFailurePolicy.Rules
	if !slices.ContainsFunc(rules, func(r failurepolicy.Rule) bool { return r.Name != "" }) {
		return nil, nil
	}
	names := make([]string, len(rules))
	for i, rule := range rules {
		names[i] = rule.Name
	}
	return names, nil
}
