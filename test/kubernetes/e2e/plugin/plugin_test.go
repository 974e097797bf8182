package plugin

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

func three() batchv1.JobSpec {
	return batchv1.JobSpec{Parallelism: new(int32(3)), Completions: new(int32(3)), CompletionMode: new(batchv1.IndexedCompletion)}
}

func TestExplain(t *testing.T) {
	w := newWorld(t, kubelet.Always(kubelet.Run()))
	w.Create(three())
	s := w.Until("active=3 ready=3")
	run(w, 0, []string{"job", "--exit-status"}, "Running: 3 pods active", "Job "+w.Namespace+"/job, 3 pods,", "done 0 · running 3.", "\nNext: nothing.\n",
		"index 2: active, pod "+podOfIndex(s, 2))
	run(w, 0, []string{"job", "-o", "json"}, `"code": "Running",`, `"attention": "None"`)
	run(w, 0, nil, "No Job needs attention (--all lists 1 Job).\n")
	w.Become(kubelet.Fail(3), s.OfIndex(1)...)
	w.When("the failed pod is counted", func(s script.State) bool { return s.Job.Status.Failed == 1 })
	run(w, 0, []string{"job/job", "--all"}, "index 1: ", "exit code 3")
	run(w, 1, []string{"other"}, `kubectl jobfate: jobs.batch "other" not found`)
}

// podOfIndex is the name of the pod of an index.
func podOfIndex(s script.State, index int) string { return s.OfIndex(index)[0].Name }

// The API server rejects pods because of a quota. The built-in controller reports that in an event.
func TestQuota(t *testing.T) {
	w := newWorld(t, kubelet.Always(kubelet.Run()))
	w.Quota(1)
	w.Create(three())
	eventually(w, 6, []string{"job", "--exit-status"}, "QuotaExceeded: 2 pods cannot be created: pods ", "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1")
	run(w, 6, []string{"--exit-status"}, "CAUSE           MESSAGE\njob    0/3 ")
	run(w, 0, []string{"-A", "-l", "job-name=none"}, "No Job was found.\n")
}

func TestListOrder(t *testing.T) {
	w := newWorld(t, kubelet.Always(kubelet.Run()))
	w.Create(three())
	w.Until("active=3 ready=3")
	for name, change := range map[string]func(*batchv1.JobSpec){
		"held":  func(spec *batchv1.JobSpec) { spec.Suspend = new(true) },
		"ended": func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = new(int64(1)) },
	} {
		spec := three()
		change(&spec)
		w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	}
	eventually(w, 5, []string{"--exit-status"},
		"Failed      DeadlineExceeded: ", "Suspended   the Job is suspended, since ", " by plugin.test\n", "What to do:\n", "1 other Job needs no attention (--all lists them).\n")
}

// The plugin watches one Job to its end, and another until it is interrupted.
func TestWatch(t *testing.T) {
	w := newWorld(t, kubelet.Always(kubelet.Run()))
	w.Create(three())
	s := w.Until("active=3 ready=3")
	interrupted, _ := watch(w)
	cmd, out := watch(w)
	w.Must(interrupted.Process.Signal(os.Interrupt))
	_ = interrupted.Wait() // the exit code is checked below
	if got := interrupted.ProcessState.ExitCode(); got != 130 {
		t.Errorf("interrupted: got status %d, want 130", got)
	}
	w.Become(kubelet.Succeed(), s.OfIndex(0)...)
	w.When("a pod is counted", func(s script.State) bool { return s.Job.Status.Succeeded == 1 })
	time.Sleep(2 * time.Second) // it prints once a second at most
	w.Become(kubelet.Succeed(), s.OfIndex(1, 2)...)
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want success", err)
	}
	views := strings.Split(strings.TrimSpace(out.String()), "\n\nJob ")
	first := func(view string) string { return view[strings.LastIndex(view, "\n")+1:] }
	if len(views) < 4 || !strings.Contains(out.String(), "done 1 · running 2.") {
		t.Errorf("got\n%s\nwant the Job with all pods running, with one done, and at its end", out.String())
	}
	if last := first(views[len(views)-2]); !strings.HasPrefix(first(views[0]), "Running: ") || !strings.HasPrefix(last, "Finished: the Job is Complete") {
		t.Errorf("got %q first and %q last, want Running and Finished", first(views[0]), last)
	}
}

// watch starts the plugin, and returns when it has printed something.
func watch(w *world.World) (*exec.Cmd, *bytes.Buffer) {
	w.T.Helper()
	cmd := exec.CommandContext(w.T.Context(), binary, "--kubeconfig", kubeconfig, "-n", w.Namespace, "job", "-w")
	var out bytes.Buffer
	started := make(chan struct{})
	cmd.Stdout = writerFunc(func(p []byte) (int, error) {
		if out.Len() == 0 {
			close(started)
		}
		return out.Write(p)
	})
	cmd.Stderr = os.Stderr
	w.Must(cmd.Start())
	select {
	case <-started:
	case <-time.After(30 * time.Second):
		w.T.Fatal("the plugin prints nothing")
	}
	return cmd, &out
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// The plugin runs with restricted permissions.
func TestPermissions(t *testing.T) {
	w := newWorld(t, kubelet.Always(kubelet.Run()))
	w.Create(three())
	w.Until("active=3 ready=3")
	reader := account(w, "reader", map[string][]string{"batch": {"jobs"}, "": {"pods"}})
	runAs(w, reader, 0, []string{"job"}, "Running: 3 pods active", "NotPermitted: causes that depend on events, nodes cannot be found: events is forbidden: User")
	runAs(w, reader, 0, []string{"simulate", "job"}, "Complete after ")
	runAs(w, reader, 0, []string{"validate", "job"}, "job/job: Job job accepted, 0 errors")
	runAs(w, account(w, "jobs", map[string][]string{"batch": {"jobs"}}), 1, []string{"job"}, "kubectl jobfate: pods is forbidden: User")
	runAs(w, account(w, "nothing", nil), 1, nil, "kubectl jobfate: jobs.batch is forbidden: User")
}

// account returns the kubeconfig of a service account that may read kinds, by their groups.
func account(w *world.World, name string, allowed map[string][]string) string {
	w.T.Helper()
	config, err := api.Account(w.T.Context(), w.Namespace, name)
	w.Must(err)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for group, resources := range allowed {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list"}})
	}
	_, err = w.Client.RbacV1().Roles(w.Namespace).Create(w.T.Context(), role, metav1.CreateOptions{})
	w.Must(err)
	_, err = w.Client.RbacV1().RoleBindings(w.Namespace).Create(w.T.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: w.Namespace}},
	}, metav1.CreateOptions{})
	w.Must(err)
	file, err := api.Kubeconfig(w.Namespace+"-"+name, config)
	w.Must(err)
	return file
}

func TestSimulateAndComplete(t *testing.T) {
	w := newWorld(t, kubelet.Always(kubelet.Run()))
	spec := three()
	spec.Completions = new(int32(9))
	w.Create(spec)
	s := w.Until("active=3 ready=3")
	text := run(w, 0, []string{"simulate", "job", "--full"}, "Complete after ")
	for _, pod := range s.Active() {
		if !strings.Contains(text, pod.Name) {
			t.Errorf("got\n%s\nwant it to continue from pod %s", text, pod.Name)
		}
	}
	names := strings.Fields(run(w, 0, []string{"__complete", "simulate", ""}))
	if !slices.Contains(names, "job") {
		t.Errorf("got %q, want the name of the Job among them", names)
	}
}
