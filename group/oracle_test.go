package group_test

// A slow and obvious implementation to compare the package with. It remembers every decision, and
// computes all else from this history.

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// past is a decision about a failure.
type past struct {
	failure   group.Failure
	action    group.Action
	charges   []string
	rule      int
	at        time.Time // of the failure
	unknown   bool      // whether that is now, because the failure has no such time
	charged   time.Time
	notBefore time.Time
	renewed   []group.Renewed
}

// restarts reports whether the decision has restarted a member.
func (p past) restarts(m group.Member) bool {
	switch p.action {
	case group.RestartGroup, group.SuspendGroup:
		return true // "replaces the Jobs of all members"
	case group.RestartTemplate:
		return p.failure.Template == m.Template
	case group.RestartMember:
		return p.failure.Name == m.Name
	}
	return false
}

// history lists decisions, the last one last.
type history struct {
	policy  *group.Policy
	past    []past
	resumed bool         // since the last decision
	lost    map[int]bool // before which decisions the state has lost where quiet and progress began
}

// attempt: "the number of its restarts, of restarts of its template and of the group".
func (h *history) attempt(m group.Member) (n int32) {
	for _, p := range h.past {
		if p.restarts(m) {
			n++
		}
	}
	return n
}

// over: "While the group is suspended or has ended, nothing is decided."
func (h *history) over() bool {
	if len(h.past) == 0 {
		return false
	}
	switch h.past[len(h.past)-1].action {
	case group.SuspendGroup:
		return !h.resumed
	case group.CompleteGroup, group.FailGroup:
		return true
	}
	return false
}

// end: "the time of the failure, if one ended it", and "the name of the rule that ended the group, or its position".
func (h *history) end() *group.End {
	if len(h.past) == 0 || !slices.Contains([]group.Action{group.CompleteGroup, group.FailGroup}, h.past[len(h.past)-1].action) {
		return nil
	}
	last := h.past[len(h.past)-1]
	end := &group.End{Reason: last.failure.Reason, Time: metav1.NewTime(last.at)}
	if last.rule >= 0 {
		end.Rule = strconv.Itoa(last.rule)
	}
	return end
}

func (h *history) left(m group.Member) bool {
	return m.Name != "" && slices.ContainsFunc(h.past, func(p past) bool {
		return p.action == group.Leave && p.failure.Name == m.Name && p.failure.Attempt == h.attempt(m)
	})
}

func (h *history) open(failures []group.Failure) (open []group.Failure) {
	for _, f := range failures {
		if !h.over() && f.Attempt == h.attempt(f.Member) && !h.left(f.Member) {
			open = append(open, f)
		}
	}
	return open
}

// notBefore returns the latest time of the last restarts of the member, its template and the group.
func (h *history) notBefore(m group.Member) (latest time.Time) {
	last := map[string]time.Time{}
	for _, p := range h.past {
		if p.restarts(m) {
			last[strings.Replace(string(p.action), "Suspend", "Restart", 1)] = p.notBefore
		}
	}
	for _, t := range last {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

// decide returns the decision about failures, which becomes a part of the history, and whether there
// is one.
func (h *history) decide(failures []group.Failure, now time.Time) (rule, step int, decided past, ok bool) {
	open := h.open(failures)
	if len(open) == 0 {
		return -1, -1, past{}, false
	}
	slices.SortFunc(open, func(a, b group.Failure) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(ToJSON(key(a)), ToJSON(key(b)))
	})
	rule, step, decided = -1, -1, past{failure: open[0], action: group.FailGroup}
	for r := len(h.policy.Rules) - 1; r >= 0; r-- { // the first rule overwrites the others
		for i := len(open) - 1; i >= 0; i-- { // and so does the first failure
			if meetsAll(h.policy.Rules[r], open[i]) {
				rule, decided.failure = r, open[i]
			}
		}
	}
	when := decided.failure.At
	if when.IsZero() || when.After(now) { // "counts as one of now", and renews nothing by its time
		when, decided.unknown = now, true
	}
	when = roundUp(when)
	if rule >= 0 {
		for i, s := range h.policy.Rules[rule].Steps {
			if charged, possible := h.possible(s, decided, when); possible {
				step, decided.action, decided.charges, decided.charged = i, s.Action, s.Charges, charged
				decided.notBefore = h.delayed(s, decided.failure.Member, when, charged)
				for _, name := range s.Charges {
					if _, renewed := h.charges(h.budget(name), decided); renewed.Budget != "" {
						decided.renewed = append(decided.renewed, renewed)
					}
				}
				break
			}
		}
	}
	decided.rule, decided.at = rule, when
	h.past, h.resumed = append(h.past, decided), false
	return rule, step, decided, true
}

// key orders failures of the same time: "ordered by the name of the member".
func key(f group.Failure) []any {
	// Fixed widths, so that the texts have the order of the values.
	pad := func(s string) string { return s + strings.Repeat(" ", 80-len(s)) }
	return []any{pad(f.Name), pad(f.Template), 1e6 + float64(f.Attempt), pad(f.Reason), pad(f.Message), pad(f.Class),
		pad(f.RuleName), pad(f.Container), 1e6 + float64(f.ExitCode)}
}

func roundUp(t time.Time) time.Time {
	if t.Nanosecond() > 0 {
		return time.Unix(t.Unix()+1, 0).UTC()
	}
	return t.UTC()
}

func meetsAll(r group.Rule, f group.Failure) bool {
	in := func(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
	reason := f.Reason
	if strings.HasPrefix(reason, "PodFailurePolicy_") && slices.Contains(r.OnReasons, batchv1.JobReasonPodFailurePolicy) {
		reason = batchv1.JobReasonPodFailurePolicy
	}
	message := len(r.OnMessagePatterns) == 0
	for _, pattern := range r.OnMessagePatterns {
		message = message || regexp.MustCompile(pattern).FindStringIndex(f.Message) != nil
	}
	code := true
	if on := r.OnExitCodes; on != nil {
		code = f.ExitCode != 0 && (on.ContainerName == nil || *on.ContainerName == f.Container)
		switch on.Operator {
		case batchv1.PodFailurePolicyOnExitCodesOpIn:
			code = code && slices.Contains(on.Values, f.ExitCode)
		default:
			code = code && !slices.Contains(on.Values, f.ExitCode)
		}
	}
	return message && code && in(r.OnReasons, reason) && in(r.OnRuleNames, f.RuleName) && in(r.OnClasses, f.Class) &&
		in(r.Templates, f.Template) && in(r.Members, f.Name)
}

// possible returns when a step can be taken.
func (h *history) possible(s group.Step, next past, when time.Time) (time.Time, bool) {
	m := next.failure.Member
	if (s.Action == group.RestartMember || s.Action == group.Leave) && m.Name == "" || s.Action == group.RestartTemplate && m.Template == "" {
		return when, false
	}
	best := when
	for _, name := range s.Charges {
		b := h.budget(name)
		if b.Per == group.PerMember && m.Name == "" || b.Per == group.PerTemplate && m.Template == "" {
			return when, false
		}
		charges, _ := h.charges(b, next)
		if b.Window == 0 {
			if len(charges) >= int(b.Max) {
				return when, false
			}
			continue
		}
		// The first time at which fewer than Max charges are in the window before it or later.
		tries := []time.Time{when}
		for _, t := range charges {
			tries = append(tries, t.Add(b.Window))
		}
		slices.SortFunc(tries, time.Time.Compare)
		free := tries[slices.IndexFunc(tries, func(try time.Time) bool {
			n := 0
			for _, t := range charges {
				if t.After(try.Add(-b.Window)) {
					n++
				}
			}
			return !try.Before(when) && n < int(b.Max)
		})]
		if free.After(when) && !b.Wait {
			return when, false
		}
		if free.After(best) {
			best = free
		}
	}
	return roundUp(best), true
}

func (h *history) budget(name string) group.Budget {
	return h.policy.Budgets[slices.IndexFunc(h.policy.Budgets, func(b group.Budget) bool { return b.Name == name })]
}

// charges returns the times of the charges to the budget that a failure would charge, since it was renewed last, and why
// this failure renews it.
func (h *history) charges(b group.Budget, next past) (times []time.Time, by group.Renewed) {
	var quiet time.Time
	var progress int64
	for i, p := range append(slices.Clone(h.past), next) {
		f, last := p.failure, i == len(h.past)
		if h.lost[i] {
			quiet, progress = time.Time{}, 0
		}
		same := b.Per == group.PerMember && f.Name == next.failure.Name ||
			b.Per == group.PerTemplate && f.Template == next.failure.Template || b.Per == group.PerGroup || b.Per == ""
		if by = (group.Renewed{}); same && (last || slices.Contains(p.charges, b.Name)) {
			if len(times) > 0 && b.Renew.Quiet > 0 && !quiet.IsZero() && !p.unknown && !f.At.Before(quiet.Add(b.Renew.Quiet)) {
				by.Budget, by.Quiet = b.Name, f.At.Sub(quiet)
			}
			if len(times) > 0 && b.Renew.Progress > 0 && progress > 0 && f.Progress-progress >= b.Renew.Progress {
				by.Budget, by.Progress = b.Name, f.Progress-progress
			}
			if by.Budget != "" {
				times = nil
			}
			if len(times) == 0 || progress == 0 { // "since it was renewed last or, the first time, since its first charge"
				progress = max(progress, f.Progress)
			}
			if !last {
				times = append(times, p.charged)
			}
			for _, t := range []time.Time{p.charged, p.notBefore} {
				if t.After(quiet) {
					quiet = t
				}
			}
		}
		if b.Renew.WithGroup && (p.action == group.RestartGroup || p.action == group.SuspendGroup) {
			times = nil // "a restart or suspension of the group renews them"
		}
	}
	return times, by
}

// delayed returns when a restart takes effect.
func (h *history) delayed(s group.Step, m group.Member, when, charged time.Time) time.Time {
	restarts := int32(1)
	for _, p := range h.past {
		group1 := p.action == group.RestartGroup || p.action == group.SuspendGroup
		switch s.Action {
		case group.RestartGroup, group.SuspendGroup:
			if group1 {
				restarts++
			}
		case group.RestartTemplate, group.RestartMember:
			if p.action == s.Action && p.restarts(m) {
				restarts++
			}
		default:
			return time.Time{}
		}
	}
	switch s.Action {
	case group.Leave, group.CompleteGroup, group.FailGroup:
		return time.Time{}
	}
	latest := charged
	if s.Backoff != nil {
		if t := when.Add(s.Backoff.Delay(restarts)); t.After(latest) {
			latest = t
		}
	}
	if latest.Equal(when) {
		return time.Time{}
	}
	return roundUp(latest)
}
