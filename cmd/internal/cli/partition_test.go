package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// namespaceOf returns Jobs and pods. Most Jobs have a pod that they control and a pod that
// they may adopt. Every third Job, beginning with the first, instead has a pod of an earlier
// Job of the same name, and a pod of another controller.
func namespaceOf(jobs int) Objects {
	in := &kubefile.Input{}
	pod := func(name string, job *batchv1.Job) {
		p := PodOf(job, job.Namespace+"/"+name, "")
		p.Name = name
		in.Pods, in.PodsAt = append(in.Pods, p), append(in.PodsAt, kubefile.Place{File: name})
	}
	for i := range jobs {
		name := string(rune('a'+i/26)) + string(rune('a'+i%26))
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: []string{"one", "two"}[i%2], Name: name, UID: types.UID("uid-" + name)},
			Spec: batchv1.JobSpec{Parallelism: new(int32(3)), Completions: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"job": name}}}}
		job.Spec.Template.Labels = job.Spec.Selector.MatchLabels
		in.Jobs = append(in.Jobs, &kubefile.Manifest{Job: job, At: kubefile.Place{File: "job/" + name}})
		if i%3 > 0 {
			pod(name+"-owned", job)
			pod(name+"-orphan", job)
			in.Pods[len(in.Pods)-1].OwnerReferences = nil
			continue
		}
		before := job.DeepCopy()
		before.UID = "earlier"
		pod(name+"-earlier", before)
		pod(name+"-other", job)
		in.Pods[len(in.Pods)-1].OwnerReferences[0] = metav1.OwnerReference{Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}
	}
	return Objects{Input: in}
}

// TestPartition checks that the explanation of a Job from its part of the pods equals the
// explanation from all pods.
func TestPartition(t *testing.T) {
	in, env := namespaceOf(30), testEnvironment()
	x := &Explain{}
	x.format = "text"
	list, err := x.List(env, in)
	if err != nil || list.err != nil || len(list.reports) != len(in.Jobs) {
		t.Fatalf("got %+v and %v, want %d reports", list, err, len(in.Jobs))
	}
	withoutForeign := func(r *report) string {
		r.Pods = 0
		r.Notes = slices.DeleteFunc(r.Notes, func(n Note) bool { return n.Code == "ForeignPodsIgnored" })
		return string(encode(r))
	}
	adopted, recreated, pods := 0, 0, 0
	for _, r := range list.reports {
		pods += r.Pods
		at := slices.IndexFunc(in.Jobs, func(m *kubefile.Manifest) bool { return m.Job.Name == r.Job.Name })
		whole := Must(x.decide(in, in.evidence(), in.Jobs[at], x.now(env, &in)))
		Same(t, r.Job.Name, withoutForeign(r), withoutForeign(whole))
		adopted += len(r.Claims)
		if r.Reason.Code == "JobRecreated" {
			recreated++
		}
	}
	if want := 20 + 10 + 30*10; pods != want { // owned, of an earlier Job, and the orphans of the namespace
		t.Errorf("the parts of all Jobs have %d pods, want %d", pods, want)
	}
	if adopted != 20 || recreated != 10 {
		t.Errorf("%d pods are adopted, want 20; %d Jobs were recreated, want 10", adopted, recreated)
	}
}

// TestListWidth checks that the width of a terminal cuts the lines of a table, unless --all is given.
func TestListWidth(t *testing.T) {
	files := append(sampleFiles("failed-by-rule"), sampleFiles("finished")...)
	for all, width := range map[string]int{"--all=false": 90, "--all": 0} {
		env := testEnvironment()
		env.StdoutTerminal, env.Width = true, func() int { return 90 }
		line := strings.Split(runIn(env, "", append([]string{"explain", "--color", "never", all}, files...)...).Stdout, "\n")[1]
		if got := utf8.RuneCountInString(line); strings.HasSuffix(line, "…") != (width > 0) || width > 0 && got != width {
			t.Errorf("%s: got %d characters, want %d\n%s", all, got, width, line)
		}
	}
}
