package group

import (
	"cmp"
	"encoding/json"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
)

// Policy says what the failure of a member does to its group. [Policy.Check] finds mistakes. The
// zero Policy fails the group at the first failure.
type Policy struct {
	// Budgets lists the budgets that steps charge.
	Budgets []Budget `json:"budgets,omitempty"`
	// Rules are tried in order. If none matches a failure, the group fails.
	Rules []Rule `json:"rules,omitempty"`
}

// Budget limits how often steps are taken.
type Budget struct {
	// Name is unique among the budgets.
	Name string `json:"name"`
	// Per says whose steps share the budget: the group, which is the default, or each template or
	// member has one of its own.
	// +kubebuilder:validation:Enum=Group;Template;Member
	Per Scope `json:"per,omitempty"`
	// Max is the number of steps that can charge the budget. With Window it is at least 1, and at
	// most 100, because the state has the time of each.
	// +kubebuilder:validation:Minimum=0
	Max int32 `json:"max"`
	// Window is the period in which Max applies. Zero means forever. In JSON it is a text such as "1h30m".
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}(\.[0-9]{1,9})?s)?([0-9]{1,9}ms)?$`
	Window time.Duration `json:"window,omitempty"`
	// Wait says that a step is taken even if the window has no free unit: the restart then waits until it has one.
	Wait bool `json:"wait,omitempty"`
	// Renew says when the budget has all its units again. Without it, it never has.
	// +optional
	Renew Renewal `json:"renew,omitzero"`
}

// Renewal says when a budget has all its units again: whichever comes first. Quiet and Progress are looked at when a
// failure charges the budget. Until then a renewal would change nothing, so no decision waits for one.
type Renewal struct {
	// WithGroup is for budgets of templates and members: a restart or suspension of the group renews them. A step that
	// restarts or suspends the group must charge a budget without WithGroup, or none, because it empties the others.
	WithGroup bool `json:"withGroup,omitempty"`
	// Quiet is the time since the last charge, and since the restart that it paid for could begin. It ends at the time
	// of the failure. In JSON it is a text such as "1h30m".
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}(\.[0-9]{1,9})?s)?([0-9]{1,9}ms)?$`
	Quiet time.Duration `json:"quiet,omitempty"`
	// Progress is how much the progress that the caller reports has grown since the budget was renewed last or, the
	// first time, since its first charge.
	// +kubebuilder:validation:Minimum=0
	Progress int64 `json:"progress,omitempty"`
}

// Scope is the group, a template of it, or a member.
type Scope string

// The scopes of a budget.
const (
	PerGroup    Scope = "Group"
	PerTemplate Scope = "Template"
	PerMember   Scope = "Member"
)

// Rule matches a failure that meets all its requirements. An empty requirement is met.
type Rule struct {
	// Name is for people.
	Name string `json:"name,omitempty"`
	// OnReasons lists reasons of the condition Failed. PodFailurePolicy is also met by reasons that
	// name the rule of the pod failure policy, such as PodFailurePolicy_0.
	OnReasons []string `json:"onReasons,omitempty"`
	// OnRuleNames lists rules of the Job's pod failure policy: the names of rules, or the position
	// of a rule whose name is not known.
	OnRuleNames []string `json:"onRuleNames,omitempty"`
	// OnClasses lists classes, which the caller gives to failures.
	OnClasses []string `json:"onClasses,omitempty"`
	// OnMessagePatterns lists regular expressions (RE2). One of them must match a part of the
	// message.
	OnMessagePatterns []string `json:"onMessagePatterns,omitempty"`
	// OnExitCodes is a requirement on the container that failed the Job. It is not met if the
	// message of the Job has no exit code: only pod failure policies write one.
	OnExitCodes *batchv1.PodFailurePolicyOnExitCodesRequirement `json:"onExitCodes,omitempty"`
	// Templates lists templates.
	Templates []string `json:"templates,omitempty"`
	// Members lists members by name.
	Members []string `json:"members,omitempty"`
	// Steps are tried in order. The first one whose budgets all have a free unit is taken. If there
	// is none, the group fails.
	Steps []Step `json:"steps"`
}

// Step is a response to a failure.
type Step struct {
	Action Action `json:"action"`
	// Charges lists the budgets that the step takes one unit from.
	Charges []string `json:"charges,omitempty"`
	// Backoff delays a restart, or the end of a suspension. The delay begins at the failure, and
	// grows with the restarts of the member, template or group. Without Backoff there is no delay.
	Backoff *backoff.Policy `json:"backoff,omitempty"`
}

// Action is what a step does.
// +kubebuilder:validation:Enum=Leave;RestartMember;RestartTemplate;RestartGroup;SuspendGroup;CompleteGroup;FailGroup
type Action string

// The actions.
const (
	// Leave leaves the member failed. The others continue.
	Leave Action = "Leave"
	// RestartMember replaces the Job of the member that failed.
	RestartMember Action = "RestartMember"
	// RestartTemplate replaces the Jobs of all members of the template.
	RestartTemplate Action = "RestartTemplate"
	// RestartGroup replaces the Jobs of all members.
	RestartGroup Action = "RestartGroup"
	// SuspendGroup stops all members. After [State.Resume] all of them are replaced.
	SuspendGroup Action = "SuspendGroup"
	// CompleteGroup ends the group as a success.
	CompleteGroup Action = "CompleteGroup"
	// FailGroup ends the group as a failure.
	FailGroup Action = "FailGroup"
)

// effect says what an action needs and does.
type effect struct {
	needs  Scope // what must have a name: the member, or its template
	counts Scope // whose restarts it counts
	phase  Phase // the phase that it begins
}

// effects has the effect of each action. An unknown action has none.
var effects = map[Action]effect{
	Leave:           {needs: PerMember},
	RestartMember:   {needs: PerMember, counts: PerMember},
	RestartTemplate: {needs: PerTemplate, counts: PerTemplate},
	RestartGroup:    {counts: PerGroup},
	SuspendGroup:    {counts: PerGroup, phase: Suspended},
	CompleteGroup:   {phase: Complete},
	FailGroup:       {phase: Failed},
}

func (b *Budget) scope() Scope { return cmp.Or(b.Per, PerGroup) }

// budgetFields and renewalFields have the fields of a Budget and its Renewal, and their form in JSON.
type (
	budgetFields  Budget
	renewalFields Renewal
)

// budgetJSON has the form of the Kubernetes API: a time is a text such as "1h". It hides that of the fields.
type budgetJSON struct {
	budgetFields
	Window *metav1.Duration `json:"window,omitempty"`
	Renew  struct {
		renewalFields
		Quiet *metav1.Duration `json:"quiet,omitempty"`
	} `json:"renew,omitzero"`
}

// MarshalJSON returns the budget with its times as texts.
func (b Budget) MarshalJSON() ([]byte, error) {
	out := budgetJSON{budgetFields: budgetFields(b), Window: asText(b.Window)}
	out.Renew.renewalFields, out.Renew.Quiet = renewalFields(b.Renew), asText(b.Renew.Quiet)
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes. If it returns an error, the budget does not change.
func (b *Budget) UnmarshalJSON(text []byte) error {
	var in budgetJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*b = Budget(in.budgetFields)
	b.Window, b.Renew = durationOf(in.Window), Renewal(in.Renew.renewalFields)
	b.Renew.Quiet = durationOf(in.Renew.Quiet)
	return nil
}

// asText returns a time that is a text in JSON; nil for 0.
func asText(d time.Duration) *metav1.Duration {
	if d == 0 {
		return nil
	}
	return &metav1.Duration{Duration: d}
}

func durationOf(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

// Member is a part of the group with one [Object], which is created again when the member is restarted.
type Member struct {
	// Name identifies the member. It must be the same after a restart. A member whose object gets a new
	// name each time, and that nothing else identifies, has no name: it can only be restarted with
	// its template or group.
	Name string
	// Template is the name of the template, such as that of a replicated Job; empty for none. It
	// must not change.
	Template string
}

// has reports whether the member has the name that a scope needs.
func (m Member) has(s Scope) bool {
	return s != PerMember && s != PerTemplate || s == PerMember && m.Name != "" || s == PerTemplate && m.Template != ""
}
