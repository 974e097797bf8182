package plugin

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

// applied applies manifests. The kind of a custom resource can be discovered some time after its definition.
func applied(w *world.World, file string) map[string]*unstructured.Unstructured {
	w.T.Helper()
	made := map[string]*unstructured.Unstructured{}
	observe.Await(w.T, patience, file, func() string {
		objects, err := api.Apply(w.T.Context(), w.Namespace, file)
		for _, o := range objects {
			made[o.GetKind()] = o
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
	return made
}

// owned creates a Job of an owner, which the Job names in another version.
func owned(w *world.World, name, version string, owner *unstructured.Unstructured, spec batchv1.JobSpec) {
	w.T.Helper()
	w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{"jobset.sigs.k8s.io/jobset-name": owner.GetName()},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: version, Kind: owner.GetKind(), Name: owner.GetName(),
			UID: owner.GetUID(), Controller: new(true)}}}, Spec: spec})
}

// changePod changes the status of the only pod of a Job once it is there.
func changePod(w *world.World, job string, change func(*corev1.PodStatus)) *corev1.Pod {
	w.T.Helper()
	pods := w.Client.CoreV1().Pods(w.Namespace)
	var list *corev1.PodList
	observe.Await(w.T, patience, "a pod of Job "+job, func() string {
		var err error
		list, err = pods.List(w.T.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		w.Must(err)
		if len(list.Items) != 1 {
			return fmt.Sprintf("it has %d pods", len(list.Items))
		}
		return ""
	})
	change(&list.Items[0].Status)
	pod, err := pods.UpdateStatus(w.T.Context(), &list.Items[0], metav1.UpdateOptions{})
	w.Must(err)
	return pod
}

// The plugin reads the owners of a Job and the claims of its pods, in the versions that the server has, and says
// what it may not read. A CronJob is explained. An owner, or several names, select Jobs.
func TestOwnersAndClaims(t *testing.T) {
	w := newWorld(t, kubelet.Always(kubelet.Life{Direct: true, Stuck: true})) // no pod gets a node
	applied(w, "e2e/plugin/testdata/jobset.yaml")
	made := applied(w, "e2e/plugin/testdata/owners.yaml")
	owned(w, "sweep-a-0", "jobset.x-k8s.io/v1alpha2", made["JobSet"], batchv1.JobSpec{Suspend: new(true)})
	spec := batchv1.JobSpec{}
	spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	owned(w, "nightly-1", "batch/v1", made["CronJob"], spec)
	changePod(w, "nightly-1", func(status *corev1.PodStatus) { // as the scheduler does
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason:  corev1.PodReasonUnschedulable,
			Message: "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."}}
	})
	const held, claim = "SuspendedByOwner", "VolumeUnbound"
	run(w, 0, []string{"sweep-a-0"}, held+": the Job is suspended by JobSet sweep: spec.suspend is true\n")
	run(w, 0, []string{"cronjob/nightly"}, "CronJob "+w.Namespace+"/nightly, schedule \"0 2 * * *\"", " nightly-1, ")
	run(w, 0, []string{"job/nightly-1"}, claim+": ", "PersistentVolumeClaim data is Pending", "CronJob nightly: ")
	for _, test := range []struct {
		args        []string
		with, other string
	}{
		{[]string{"jobset/sweep"}, held, claim},
		{[]string{"sweep-a-0", "nightly-1"}, "\nsweep-a-0   0/1 ", "\njob "},
		{[]string{"js/sweep", "cj/nightly"}, "\nnightly-1         0/1 ", "\njob "},
	} {
		if text := run(w, 0, test.args, "NAME ", test.with); strings.Contains(text, test.other) {
			t.Errorf("%q: got\n%s\nwant no %s", test.args, text, test.other)
		}
	}
	few := account(w, "few", map[string][]string{"batch": {"jobs"}, "": {"pods", "events"}})
	runAs(w, few, 0, []string{"nightly-1"}, claim+": ", "NotPermitted: causes that depend on CronJob, PersistentVolumeClaim "+
		`cannot be found: cronjobs.batch "nightly" is forbidden`)
	runAs(w, few, 0, []string{"jobset/sweep"}, "NotPermitted: causes that depend on JobSet cannot be found: jobsets.jobset.x-k8s.io ")
}

// The plugin prints the end of the log of the run that failed, which the server reads from the kubelet, and says
// why it cannot.
func TestLogs(t *testing.T) {
	w := newWorld(t, kubelet.Always(kubelet.Run()))
	logs := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(out, "of "+r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]+" "+r.URL.Query().Get("previous")+"\n\x1b[2Jlast\n")
	}))
	defer logs.Close()
	spec := batchv1.JobSpec{}
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	w.Create(spec)
	w.Until("active=1 ready=1")
	pod := changePod(w, world.JobName, func(status *corev1.PodStatus) {
		c := &status.ContainerStatuses[0]
		c.RestartCount, c.Ready, c.State = 3, false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}
	})
	run(w, 0, []string{"job"}, "container main")
	run(w, 0, []string{"job", "--logs"}, "Log of container main", "it cannot be read: ")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}
	node, err := w.Client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	w.Must(err)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(logs.Listener.Addr().(*net.TCPAddr).Port)
	_, err = w.Client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	w.Must(err)
	run(w, 0, []string{"job", "--logs=2"}, "Log of container main of pod "+pod.Name+", before its restart:\n  of main true\n  \\u001b[2Jlast\n")
	few := account(w, "few", map[string][]string{"batch": {"jobs"}, "": {"pods"}})
	runAs(w, few, 0, []string{"job", "--logs"}, `it cannot be read: pods "`+pod.Name+`" is forbidden`)
}
