package explain_test

import (
	"cmp"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/explain"
)

// scene is a snapshot with its expected first cause.
type scene struct {
	reason  string // why the scene is here
	objects []string
	code    explain.Code
	text    string
	needs   explain.Attention
	pods    string // names, the first and last of several
}

const quotaMessage = `Error creating: pods "train-x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=10, limited: pods=10`

// scenes are about the whole text of a cause and the pods that it names; testdata/causes has each cause, and other texts.
var scenes = []scene{
	{"an image that is not in the registry", append([]string{plainJob()},
		aPod(0, running),
		aPod(1, waitingFor("ImagePullBackOff", `Back-off pulling image "registry.example/train:v2"`)),
		aPod(2, waitingFor("ImagePullBackOff", `Back-off pulling image "registry.example/train:v2"`))),
		explain.CauseImagePull, `2 of 3 active pods cannot pull an image: container main: ImagePullBackOff: Back-off pulling image "registry.example/train:v2"`, explain.AttentionStuck, "train-1, train-2"},
	{"a Secret that is missing", append([]string{plainJob()}, threePods(waitingFor("CreateContainerConfigError", `secret "db" not found`))...),
		explain.CauseContainerConfig, `3 of 3 active pods cannot create a container: container main: CreateContainerConfigError: secret "db" not found`, explain.AttentionStuck, "train-0, train-2"},
	{"a container that the runtime refuses", append([]string{plainJob()}, threePods(waitingFor("CreateContainerError", "context deadline exceeded"))...),
		explain.CauseContainerConfig, "3 of 3 active pods cannot create a container: container main: CreateContainerError: context deadline exceeded", explain.AttentionStuck, "train-0, train-2"},
	{"a command that is not in the image, with several lines of text",
		append([]string{plainJob()}, threePods(waitingFor("RunContainerError", "exec: \"trane\":\n\n    not found"))...),
		explain.CauseContainerStart, `3 of 3 active pods cannot start a container: container main: RunContainerError: exec: "trane": not found`, explain.AttentionStuck, "train-0, train-2"},
	{"no node has a GPU left", append([]string{plainJob()}, threePods(unscheduled("Unschedulable",
		"0/5 nodes are available: 5 Insufficient nvidia.com/gpu."))...),
		explain.CauseUnschedulable, "3 of 3 active pods cannot be scheduled: 0/5 nodes are available: 5 Insufficient nvidia.com/gpu.", explain.AttentionStuck, "train-0, train-2"},
	{"the most common message is reported", append([]string{plainJob()},
		aPod(0, unscheduled("Unschedulable", "0/5 nodes are available: 1 node(s) had volume node affinity conflict.")),
		aPod(1, unscheduled("Unschedulable", noCPU)),
		aPod(2, unscheduled("Unschedulable", noCPU))),
		explain.CauseUnschedulable, "3 of 3 active pods cannot be scheduled: 0/5 nodes are available: 5 Insufficient cpu.", explain.AttentionStuck, "train-0, train-2"},
	{"the autoscaler adds a node", []string{oneActive(), aPod(0, unscheduled("Unschedulable", noCPU)),
		normal(anEvent(aboutPod, "TriggeredScaleUp", "pod triggered scale-up", "12:29:00"))},
		explain.CauseNotScheduledYet, "1 of 1 active pod cannot be scheduled yet: a node is being added: 0/5 nodes are available: 5 Insufficient cpu.", explain.AttentionWait, "train-0"},
	{"the autoscaler has added no node in time", []string{oneActive(), aPod(0, unscheduled("Unschedulable", noCPU)),
		normal(anEvent(aboutPod, "TriggeredScaleUp", "pod triggered scale-up", "12:20:00"))},
		explain.CauseUnschedulable, "1 of 1 active pod cannot be scheduled: 0/5 nodes are available: 5 Insufficient cpu.", explain.AttentionStuck, "train-0"},
	{"the scheduler has just found no node", []string{oneActive(),
		aPod(0, strings.Replace(unscheduled("Unschedulable", noCPU), "12:00:02", "12:28:01", 1))},
		explain.CauseNotScheduledYet, "1 of 1 active pod cannot be scheduled yet: 0/5 nodes are available: 5 Insufficient cpu.", explain.AttentionWait, "train-0"},
	{"a pod without a node for two minutes is stuck", []string{oneActive(),
		aPod(0, strings.Replace(unscheduled("Unschedulable", noCPU), "12:00:02", "12:28:00", 1))},
		explain.CauseUnschedulable, "1 of 1 active pod cannot be scheduled: 0/5 nodes are available: 5 Insufficient cpu.", explain.AttentionStuck, "train-0"},
	{"a sidecar that crashes beside a container that runs", []string{oneActive(), aPod(0, strings.Replace(running, "  containerStatuses",
		"  initContainerStatuses: [{name: proxy, state: {waiting: {reason: CrashLoopBackOff}}}]\n  containerStatuses", 1))},
		explain.JobRunning, "1 pod active, parallelism 1, 0 of 3 succeeded", explain.AttentionNone, ""},
	{"a scheduler that is not there", append([]string{plainJob()}, threePods("---\nspec: {schedulerName: volcano}\nstatus: {phase: Pending}")...),
		explain.CauseNoScheduler, "3 of 3 active pods got no response from a scheduler: schedulerName is volcano", explain.AttentionStuck, "train-0, train-2"},
	{"a node that does not answer", append([]string{plainJob(), aNode}, threePods(running)...),
		explain.CauseNodeLost, "3 of 3 active pods cannot be reached: node worker-1 has been NotReady since 12:05:00Z", explain.AttentionStuck, "train-0, train-2"},
	{"a phase that is not known", []string{theJob("", "", "active: 1"),
		aPod(0, "---\nspec: {nodeName: worker-9}\nstatus: {phase: Unknown, reason: NodeLost, message: Node worker-9 which was running pod train-0 is unresponsive}")},
		explain.CauseNodeLost, "1 of 1 active pod cannot be reached: the pod's phase is Unknown, on node worker-9: Node worker-9 which was running pod train-0 is unresponsive", explain.AttentionStuck, "train-0"},
	{"a volume that cannot be mounted", []string{plainJob(), aPod(0, waitingFor("ContainerCreating", "")), aPod(1, running), aPod(2, running),
		anEvent(aboutPod, "FailedMount", `MountVolume.SetUp failed for volume "keys" : secret "keys" not found`, "12:29:00")},
		explain.CausePodStartFailing, `1 of 3 active pods cannot start: FailedMount: MountVolume.SetUp failed for volume "keys" : secret "keys" not found`, explain.AttentionStuck, "train-0"},
	{"a secret that is not needed to pull the image", []string{plainJob(), strings.Replace(aPod(0, waitingFor("ContainerCreating", "")), "12:00:", "12:29:", -1), aPod(1, running), aPod(2, running),
		anEvent(aboutPod, "FailedToRetrieveImagePullSecret", "Unable to retrieve some image pull secrets", "12:29:50")},
		explain.CausePodsStarting, "1 of 3 active pods must still start: container main waits: ContainerCreating", explain.AttentionNone, "train-0"},
	{"the same without events", []string{plainJob(), aPod(0, waitingFor("ContainerCreating", "")), aPod(1, running), aPod(2, running)},
		explain.CausePodStartOverdue, "1 of 3 active pods should have started: no container has started on node worker-1 in 29m", explain.AttentionStuck, "train-0"},
	{"a pod on a lost node, which is not replaced", []string{theJob("", "podReplacementPolicy: Failed",
		"active: 2\nterminating: 1"), aNode, aPod(1, strings.Replace(running, "worker-1", "worker-2", 1)), aPod(2, strings.Replace(running, "worker-1", "worker-2", 1)),
		aPod(0, "deletionTimestamp: \"2026-05-01T12:18:00Z\"\ndeletionGracePeriodSeconds: 30\nfinalizers: example.com/keep\n"+running)},
		explain.CauseTerminationOverdue, "pod train-0 on node worker-1 should have terminated 12m ago; node worker-1 has been NotReady since 12:05:00Z; the pod has the finalizer example.com/keep", explain.AttentionStuck, "train-0"},
	{"several pods while the Job goes on", []string{oneActive(), aPod(2, running),
		aPod(0, "deletionTimestamp: \"2026-05-01T12:18:00Z\"\n"+running), aPod(1, "deletionTimestamp: \"2026-05-01T12:10:00Z\"\n"+running)},
		explain.CauseTerminationOverdue, "2 pods should have terminated, the first (pod train-1 on node worker-1) 20m ago", explain.AttentionStuck, "train-0, train-1"},
	{"a finalizer of others keeps a Job that is deleted", []string{theJob(`deletionTimestamp: "2026-05-01T12:10:00Z"`, "parallelism: 1", ""),
		aPod(0, "deletionTimestamp: \"2026-05-01T12:18:00Z\"\nfinalizers: example.com/keep\n---\nstatus: {phase: Failed}")},
		explain.CauseTerminationOverdue, "pod train-0 should have terminated 12m ago; the pod has the finalizer example.com/keep", explain.AttentionStuck, "train-0"},
	{"the pods of a Job that was recreated", []string{theJob("", "", "active: 3"), aPod(0, "# of an earlier Job\n"+running),
		aPod(1, "# of an earlier Job\n"+running)},
		explain.CauseRecreated, "an earlier Job named train owns 2 pods; this Job was created 30m ago and has no pods", explain.AttentionStuck, "train-0, train-1"},
}

// Each scene has its cause first.
func TestCause(t *testing.T) {
	for _, s := range scenes {
		t.Run(string(s.code)+"/"+s.reason, func(t *testing.T) {
			got := explained(t, s.objects...).Cause()
			pods := ""
			if n := len(got.Pods); n > 0 {
				pods = strings.Join(slices.Compact([]string{got.Pods[0], got.Pods[n-1]}), ", ")
			}
			if got.Code != s.code || got.Text != s.text || got.Attention != s.needs || pods != s.pods {
				t.Errorf("got %s (%s): %s; pods %s\nwant %s (%s): %s; pods %s", got.Code, got.Attention, got.Text, pods, s.code, s.needs, s.text, s.pods)
			}
			if got.Attention == explain.AttentionStuck && got.Advice == "" {
				t.Error("the Job is stuck, and there is no advice")
			}
		})
	}
}

// A caller may keep the time of the last failure in another time zone.
func TestCause_recordInAnotherZone(t *testing.T) {
	g := read(t, theJob("", "parallelism: 1", "failed: 1"), strings.Replace(failedPod(0, "9"), "finalizers: [batch.kubernetes.io/job-tracking]", "", 1))
	g.Backoff = backoff.Record{Job: g.Job.UID, Failures: 1, LastFailure: now.Add(-time.Second).In(time.FixedZone("", 3600))}
	e, err := g.explain()
	must(t, err)
	if got := e.Cause(); got.Code != explain.JobBackingOff || got.Pod != "train-0" {
		t.Errorf("got %s: %s, of pod %q, want train-0", got.Code, got.Text, got.Pod)
	}
}

// Causes are in the order of their rank. The reason for the decision is among them.
func TestCauses(t *testing.T) {
	e := explained(t, theJob("", "parallelism: 4\ncompletions: 4", "active: 2\nterminating: 1"),
		aPod(0, waitingFor("ErrImagePull", "denied")), aPod(1, unscheduled("Unschedulable", "no node")), aPod(2, running),
		aPod(3, "deletionTimestamp: \"2026-05-01T12:18:00Z\"\n"+running))
	var got []string
	for _, c := range e.Causes() {
		got = append(got, string(c.Code))
	}
	if want := []string{"Unschedulable", "ImagePullFailed", "CreationOverdue", "TerminationOverdue", "CreatingPods"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Refused pods are not reported as overdue as well.
func TestCauses_refused(t *testing.T) {
	got := explained(t, theJob("", "", ""), anEvent(aboutJob, "FailedCreate", quotaMessage, "12:29:30")).Causes()
	if len(got) != 2 || got[0].Code != explain.CauseQuota || got[1].Code != explain.JobCreating {
		t.Errorf("got %v, want the quota and the reason for the decision", got)
	}
}

// A Job that can only fail is lost, unless it is also stuck.
func TestCause_lost(t *testing.T) {
	job := theJob("", "completionMode: Indexed\nbackoffLimitPerIndex: 0", "active: 2\nfailed: 1\nfailedIndexes: \"0\"")
	if got := explained(t, job, aPod(1, running), aPod(2, running)).Cause(); got.Code != explain.JobRunning || got.Attention != explain.AttentionLost {
		t.Errorf("got %s (%s), want Running (Lost)", got.Code, got.Attention)
	}
	if got := explained(t, job, aPod(1, running), aPod(2, unscheduled("Unschedulable", "no"))).Cause(); got.Attention != explain.AttentionStuck {
		t.Errorf("got %s (%s), want Stuck", got.Code, got.Attention)
	}
}

// A Job of another controller is explained without a decision.
func TestUnmanaged(t *testing.T) {
	for _, s := range []scene{
		{"MultiKueue", []string{theJob("", "managedBy: kueue.x-k8s.io/multikueue", "active: 3")},
			explain.CauseMultiKueue, "MultiKueue runs the Job in a worker cluster; by the status 3 pods are active, 0 succeeded, 0 failed", explain.AttentionNone, ""},
		{"MultiKueue, with its Workload", []string{theJob("", "managedBy: kueue.x-k8s.io/multikueue", "active: 1"),
			`kind: Workload
apiVersion: kueue.x-k8s.io/v1beta2
metadata: {name: job-train, namespace: ml, ownerReferences: [{kind: Job, name: train, uid: job-uid}]}
status: {clusterName: west, admissionChecks: [{name: multikueue, state: Retry, message: the cluster is not reachable}]}`},
			explain.CauseMultiKueue, "MultiKueue runs the Job in worker cluster west; by the status 1 pod is active, 0 succeeded, 0 failed; " +
				"admission check multikueue of Workload job-train is Retry: the cluster is not reachable", explain.AttentionNone, ""},
		{"MultiKueue, not admitted", []string{theJob("", "managedBy: kueue.x-k8s.io/multikueue\nsuspend: true", "")},
			explain.CauseMultiKueue, "MultiKueue manages the Job, which is suspended here, and runs it in a worker cluster once it is admitted", explain.AttentionHeld, ""},
		{"another controller", []string{theJob("", "managedBy: example.com/trainer", "")},
			explain.CauseManagedElsewhere, "the controller example.com/trainer manages the Job", explain.AttentionNone, ""},
		{"the built-in controller, for another", []string{theJob("", "", "")},
			explain.CauseManagedElsewhere, "the controller kubernetes.io/job-controller manages the Job", explain.AttentionNone, ""},
		{"a finished Job", []string{theJob("", "managedBy: kueue.x-k8s.io/multikueue",
			`conditions: [{type: Failed, status: "True", reason: R, message: M}]`)},
			explain.JobFinished, "the Job is Failed: R: M", explain.AttentionLost, ""},
	} {
		g := read(t, s.objects...)
		got := explain.Unmanaged(g.Job, g.Evidence)
		if got.Code != s.code || got.Text != s.text || got.Attention != s.needs {
			t.Errorf("%s: got %s (%s): %s\nwant %s (%s): %s", s.reason, got.Code, got.Attention, got.Text, s.code, s.needs, s.text)
		}
	}
	if got := explain.Unmanaged(nil); got.Code != "" {
		t.Errorf("no Job: got %s, want nothing", got.Code)
	}
}

// A Job that Kueue has suspended does not wait for a user.
func TestWaits_kueue(t *testing.T) {
	waits := explained(t, theJob("labels: {kueue.x-k8s.io/queue-name: gpu}", "suspend: true", "")).Waits()
	if len(waits) != 1 || waits[0].Code != explain.WaitResume || waits[0].Text != "Kueue to admit the Job" {
		t.Errorf("got %+v", waits)
	}
}

var updateDocs = flag.Bool("update", false, "rewrite docs/first-lines.tsv")

// docs/first-lines.tsv is the table of causes.
func TestCause_docs(t *testing.T) {
	const path = "../docs/first-lines.tsv"
	want := "first line\twhat it means\twhat to do\n"
	for _, row := range explain.Rows() {
		want += string(row.Code) + "\t" + row.Means + "\t" + cmp.Or(row.Advice, "—") + "\n"
	}
	if *updateDocs {
		must(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	must(t, err)
	if diff := gocmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-the table of causes +the docs; go test ./explain -run Cause_docs -update):\n%s", path, diff)
	}
}
