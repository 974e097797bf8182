package controller

import (
	"encoding/json"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/failurepolicy"
)

// namesAnnotation names the rules of a Job's pod failure policy. It is a JSON object from the
// index of a rule to its name, as in {"0": "DatabaseDown"}. With it, the reason of a failed
// Job names the rule: PodFailurePolicy_DatabaseDown, or PodFailurePolicy_1 for a rule without
// a name (KEP-4443).
const namesAnnotation = "jobfate.dev/failure-rule-names"

// NameRules gives a Job a pod failure policy whose rules have names, so that the reason names the
// rule if the Job fails. A nil policy does nothing.
func NameRules(job *batchv1.Job, policy *failurepolicy.Spec) {
	if policy == nil {
		return
	}
	names := map[int]string{}
	for i, rule := range policy.Rules {
		if rule.Name != "" {
			names[i] = rule.Name
		}
	}
	text, _ := json.Marshal(names) // strings and numbers can always be written
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, namesAnnotation, string(text))
	job.Spec.PodFailurePolicy = policy.ToAPI()
}

// ruleNames reads the annotation. named reports whether the annotation exists. After an error no
// rule has a name.
func ruleNames(job *batchv1.Job) (names []string, named bool, err error) {
	text, named := job.Annotations[namesAnnotation]
	if !named {
		return nil, false, nil
	}
	if names, err = parseNames(text, job.Spec.PodFailurePolicy); err != nil {
		return nil, true, fmt.Errorf("annotation %s: %w", namesAnnotation, err)
	}
	return names, true, nil
}

func parseNames(text string, policy *batchv1.PodFailurePolicy) ([]string, error) {
	var byIndex map[string]string
	if err := json.Unmarshal([]byte(text), &byIndex); err != nil {
		return nil, err
	}
	if policy == nil {
		policy = &batchv1.PodFailurePolicy{}
	}
	names := make([]string, len(policy.Rules))
	for key, name := range byIndex {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(names) || strconv.Itoa(i) != key {
			return nil, fmt.Errorf("%q is not the index of one of the %d rules", key, len(names))
		}
		names[i] = name
	}
	spec := failurepolicy.FromAPI(policy, names...)
	return names, failurepolicy.RuleNames(spec, field.NewPath("spec", "podFailurePolicy")).ToAggregate()
}

// podName generates a name as the API server does.
func podName(prefix string) string {
	const random = 5
	return prefix[:min(len(prefix), utilvalidation.DNS1123LabelMaxLength-random)] + rand.String(random)
}
