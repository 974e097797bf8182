package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
)

// Digest groups failed pods by how they failed. A pod that the Job controller deleted because the Job fails is not
// among them.
type Digest struct {
	// Groups are the groups, the largest first, and of equal ones that which failed last.
	Groups []Group
	// Given is the number of pods in the groups. Gone is how many more failures the status counts: their pods no
	// longer exist, or were not given.
	Given, Gone int

	says string // what events say of those that are gone
}

// Group is a group of pods that failed alike.
type Group struct {
	// Text says how: "OOMKilled (container main)".
	Text string `json:"text"`
	// Container is the container that failed, ExitCode its exit code, and Reason that of the pod, of its disruption or
	// of the container. Each may be unset.
	Container string `json:"container,omitempty"`
	ExitCode  *int32 `json:"exitCode,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Match is the rule of the pod failure policy that the pods match.
	Match failurepolicy.Match `json:"-"`
	// Message is the one that most of the pods have, apart from numbers in it; Alike is how many these are.
	Message string `json:"message,omitempty"`
	Alike   int    `json:"alike"`
	// Pods lists the names in the order of failure, and Nodes how many of them each node has had.
	Pods  []string       `json:"pods"`
	Nodes map[string]int `json:"nodes"`
	// Last is when the last of them failed.
	Last time.Time `json:"last,omitzero"`

	records []*record
	example *record // the last one with the message
	node    string  // the only one of the group, though the Job has pods on others
	differs contrast
}

// Failures returns the digest of the failed pods of the Job.
func (d Diagnosis) Failures() Digest {
	if d.facts == nil {
		return Digest{}
	}
	return d.facts.digest
}

// FailuresByIndex returns the digest of each index that has several failed pods.
func (d Diagnosis) FailuresByIndex() map[int32]Digest {
	if d.facts == nil || !d.facts.Indexed() {
		return nil
	}
	of, all := map[int32][]*record{}, map[int32]Digest{}
	for _, r := range d.facts.toBlame() {
		of[r.Index] = append(of[r.Index], r)
	}
	for index, pods := range of {
		if len(pods) > 1 {
			all[index] = Digest{d.facts.grouped(pods), len(pods), 0, ""}
		}
	}
	return all
}

// Line returns the largest groups as a line: "6 × OOMKilled (container main) · 1 × Evicted (memory)".
func (d Digest) Line(most int) string {
	var parts []string
	for i := range d.Groups[:min(most, len(d.Groups))] {
		parts = append(parts, d.Groups[i].String())
	}
	if more := len(d.Groups) - len(parts); more > 0 {
		parts = append(parts, count(more, "other group"))
	}
	more := textIf(len(parts) > 0, " more") + either(d.Gone == 1, " is", " are") + " gone or not given"
	return joined("; ", strings.Join(parts, " · "), textIf(d.Gone > 0, strconv.Itoa(d.Gone)+more), d.says)
}

// String returns the number of pods of the group, and how they failed.
func (g *Group) String() string { return fmt.Sprintf("%d × %s", len(g.Pods), g.Text) }

// toBlame returns the failed pods in the order in which they failed. If the Job fails, what was deleted after the
// decisive failure is left out.
func (f *facts) toBlame() []*record {
	own, deleted, _ := f.failures(func(*record) bool { return true })
	if f.failureReason() != "" && len(deleted) > 0 {
		decisive := f.culprit()
		deleted = slices.DeleteFunc(deleted,
			func(r *record) bool { return decisive == nil || byFailure(r, decisive) > 0 })
	}
	all := append(own, deleted...)
	slices.SortStableFunc(all, byFailure)
	return all
}

// digestFailures returns the digest of all failed pods.
func (f *facts) digestFailures() Digest {
	pods := f.toBlame()
	groups := f.grouped(pods)
	for i := range groups {
		groups[i].differs = f.contrastOf(&groups[i])
	}
	all := Digest{groups, len(pods), max(0, int(f.failuresCounted()-f.failedGiven())), ""}
	if all.Gone > 0 && f.goesOn() { // else the cause says it
		all.says = f.addGone(&found{})
	}
	return all
}

// grouped groups failed pods, which are in the order of failure.
func (f *facts) grouped(pods []*record) (all []Group) {
	at, messages, nodes := map[string]int{}, map[[2]string]int{}, map[string]bool{}
	for _, r := range pods {
		how, node := f.alike(r), r.Pod.Spec.NodeName
		i, known := at[how.Text]
		if !known {
			i = len(all)
			at[how.Text], all = i, append(all, how)
		}
		g := &all[i]
		g.Pods, g.records, g.Last = append(g.Pods, r.Pod.Name), append(g.records, r), r.Finish().UTC()
		if node != "" {
			nodes[node] = true
			g.Nodes[node]++
		}
		of := [2]string{g.Text, withoutDigits(how.Message)}
		messages[of]++
		if messages[of] >= g.Alike {
			g.Message, g.Alike, g.example = how.Message, messages[of], r
		}
	}
	for i := range all {
		g := &all[i]
		// Two of three pods on one node are no sign, unless the others have failed, too.
		least := either(len(nodes) > 1, 2, 3)
		node := g.example.Pod.Spec.NodeName
		elsewhere := func(r *record) bool { return r.Pod.Spec.NodeName != "" && r.Pod.Spec.NodeName != node }
		if len(g.Nodes) == 1 && len(g.Pods) >= least && !f.ownFault(g, pods) &&
			(slices.ContainsFunc(f.pods, elsewhere) || f.damage(node) != "") {
			g.node = node
			g.Text += ", all on node " + g.node
		}
	}
	slices.SortStableFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(len(b.Pods), len(a.Pods)), b.Last.Compare(a.Last))
	})
	return all
}

// damage says what a condition that Kubernetes does not know says against a node; empty if none does. Monitors of nodes
// set such conditions: True is bad, unless the name says that something is well.
func (f *facts) damage(node string) string {
	for _, c := range cmp.Or(f.nodes[node], &corev1.Node{}).Status.Conditions {
		switch c.Type {
		case corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
			corev1.NodeNetworkUnavailable:
			continue
		}
		well := strings.HasSuffix(string(c.Type), "Ready") || strings.HasSuffix(string(c.Type), "Healthy")
		if c.Status == either(well, corev1.ConditionFalse, corev1.ConditionTrue) {
			since := f.clock(c.LastTransitionTime.Time)
			return " (" + joined(": ", string(c.Type)+" is "+string(c.Status)+" since "+since, c.Reason,
				oneLine(c.Message)) + ")"
		}
	}
	return ""
}

// ownFault reports whether something other than their one node explains why the pods of a group failed: they alone of
// the failed pods are of one index, a container has reached its own memory limit or says something else, or a pod has
// succeeded there since.
func (f *facts) ownFault(g *Group, pods []*record) bool {
	end := f.faultOf(g.example).End
	limited := outOfMemory(end) && f.systemOOM(g.example, end) == nil &&
		f.memoryLimit(g.example.Pod, g.Container) != noLimit
	other := func(r *record) bool { return r.Index != g.example.Index }
	node, first := g.example.Pod.Spec.NodeName, g.records[0].Finish()
	well := func(r *record) bool {
		return r.Succeeded && r.Pod.Spec.NodeName == node && r.Finish().After(first)
	}
	says := cmp.Or(end, &corev1.ContainerStateTerminated{}).Message
	return limited || !sayingIn(says).mayBeOfNode() || slices.ContainsFunc(f.pods, well) ||
		slices.ContainsFunc(pods, other) && !slices.ContainsFunc(g.records, other)
}

// lowOn matches the resource of which a node was short (pkg/kubelet/eviction/helpers.go, nodeLowMessageFmt).
var lowOn = regexp.MustCompile(`^The node was low on resource: ([a-z-]+)\.`)

// alike returns a group of one pod. Its text has the words that the pod shares with others that failed alike.
func (f *facts) alike(r *record) Group {
	is, status, disruption := f.faultOf(r), &r.Pod.Status, condition(r.Pod, corev1.DisruptionTarget)
	end := cmp.Or(is.End, &corev1.ContainerStateTerminated{})
	g := Group{Container: is.Container, Match: is.Match, Nodes: map[string]int{},
		Reason:  cmp.Or(status.Reason, textIf(is.disrupted, disruption.Reason), end.Reason),
		Message: oneLine(cmp.Or(status.Message, end.Message, textIf(is.disrupted, disruption.Message)))}
	if is.End != nil {
		code := end.ExitCode
		g.ExitCode = &code
	}
	switch {
	case r.Lost:
		g.Text = "node lost"
	case is.late:
		g.Text = "activeDeadlineSeconds of the pod template"
	case status.Reason != "":
		g.Text = status.Reason + textIf(is.rejected, " (rejected)")
		if m := lowOn.FindStringSubmatch(g.Message); m != nil {
			g.Text += " (" + m[1] + ")"
		}
	case is.disrupted:
		g.Text = joined(" by ", "disrupted", disruption.Reason)
	case is.End == nil:
		g.Text = either(is.deleted, "deleted", "no reason given")
	case f.systemOOM(r, is.End) != nil:
		g.Text = "OOMKilled by a node out of memory (container " + g.Container + ")"
	default:
		g.Text = either(end.Reason == "OOMKilled", end.Reason, explain.Exit(end)) + " (container " + g.Container + ")"
		g.Text = strings.Replace(g.Text, ") (", ", ", 1) // of a signal
	}
	if m := is.Match; m.Matched() {
		g.Text += fmt.Sprintf(", %s by rule %d", m.Action, m.Rule) + textIf(m.Name != "", " ("+m.Name+")")
	}
	return g
}

// groupNamed returns the group of the failed pod with a name; nil if it is in none.
func (d *Digest) groupNamed(pod string) *Group {
	i := slices.IndexFunc(d.Groups, func(g Group) bool { return slices.Contains(g.Pods, pod) })
	if i < 0 {
		return nil
	}
	return &d.Groups[i]
}

// leading returns the group that a sentence about the failure of a pod must not leave out: the largest one that counts
// towards the limits, if it is larger than that of the pod, else that of the pod; nil if the pod is in none.
func (d *Digest) leading(r *record) *Group {
	own := d.groupNamed(r.Pod.Name)
	for i := range d.Groups {
		g := &d.Groups[i]
		if own != nil && len(g.Pods) > len(own.Pods) && g.Match.Action != batchv1.PodFailurePolicyActionIgnore {
			return g
		}
	}
	return own
}

// ofFailed says how many of the failed pods a group has: "6 of 7 failed pods".
func (d *Digest) ofFailed(g *Group) string {
	n := len(g.Pods)
	given := count(d.Given, "failed pod") + textIf(d.Gone > 0, " left")
	given += textIf(g.node != "", ", all on node "+g.node)
	switch {
	case n < d.Given:
		return fmt.Sprintf("%d of %s%s", n, textIf(d.Gone > 0, "the "), given)
	case n == 2:
		return "both" + strings.TrimPrefix(given, "2")
	}
	return "all " + given
}

// clockBehind says that the clock of a pod's node is behind that of the API server: containers have ended before their
// pod was created. Clocks within a minute are as usual.
func clockBehind(pod *corev1.Pod, end *corev1.ContainerStateTerminated) string {
	if end == nil || end.FinishedAt.Unix() <= 0 {
		return ""
	}
	behind := pod.CreationTimestamp.Sub(end.FinishedAt.Time)
	return textIf(behind >= time.Minute, "the clock of node "+pod.Spec.NodeName+" is at least "+
		duration.HumanDuration(behind)+" behind: the container ended before its pod was created")
}

// wrongClock finds that pods of a Job that goes on have failed alike on a node whose clock is behind.
func wrongClock(f *facts) (c found) {
	for i := range f.digest.Groups {
		g := &f.digest.Groups[i]
		says := clockBehind(g.example.Pod, f.faultOf(g.example).End)
		if says == "" || len(g.Pods) == 1 || !f.goesOn() {
			continue
		}
		f.show(&c, g.example)
		c.pods = g.Pods
		c.text = joined("; ", says, f.digest.ofFailed(g)+", such as "+f.named(g.example)+": "+c.signs.Fault)
		return c
	}
	return c
}
