package diagnose_test

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/decide"
)

// The output of kubectl get job,pods,events -o yaml, shortened.
const stuck = `
kind: List
apiVersion: v1
items:
- apiVersion: batch/v1
  kind: Job
  metadata: {namespace: default, name: train, uid: job-uid}
  spec: {completions: 2, parallelism: 1, backoffLimit: 6, managedBy: example.com/jobs}
  status: {startTime: "2026-05-01T11:58:00Z", failed: 1}
- apiVersion: v1
  kind: Pod
  metadata:
    namespace: default
    name: train-x7k2p
    uid: pod-uid
    ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: job-uid, controller: true}]
  status:
    phase: Failed
    containerStatuses:
    - name: main
      state: {terminated: {exitCode: 1, finishedAt: "2026-05-01T11:59:00Z"}}
- apiVersion: v1
  kind: Event
  metadata: {namespace: default, name: train.1}
  involvedObject: {kind: Job, name: train, uid: job-uid}
  type: Warning
  reason: FailedCreate
  message: 'Error creating: pods "train-" is forbidden: exceeded quota: compute'
  lastTimestamp: "2026-05-01T11:59:40Z"
`

// Why is the Job of another controller stuck? This program has no memory of the Job, only its
// objects. So it decides in the name of that controller, without a backoff record, and passes the
// Events as evidence.
func ExampleOf() {
	var list struct{ Items []runtime.RawExtension }
	err := yaml.Unmarshal([]byte(stuck), &list)
	s := decide.Snapshot{Job: &batchv1.Job{}, Now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	var evidence diagnose.Evidence
	for _, item := range list.Items {
		var kind metav1.TypeMeta
		err = errors.Join(err, yaml.Unmarshal(item.Raw, &kind))
		switch kind.Kind {
		case "Job":
			err = errors.Join(err, yaml.Unmarshal(item.Raw, s.Job))
		case "Pod":
			s.Pods = append(s.Pods, &corev1.Pod{})
			err = errors.Join(err, yaml.Unmarshal(item.Raw, s.Pods[len(s.Pods)-1]))
		case "Event":
			evidence.Events = append(evidence.Events, &corev1.Event{})
			err = errors.Join(err, yaml.Unmarshal(item.Raw, evidence.Events[len(evidence.Events)-1]))
		}
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	var options []decide.Option
	if name := s.Job.Spec.ManagedBy; name != nil {
		options = append(options, decide.ManagedBy(*name))
		fmt.Println(diagnose.Unmanaged(s.Job).Text)
	}
	d, err := decide.Job(s, options...)
	if err != nil {
		fmt.Println(err)
		return
	}
	why := diagnose.Of(d, evidence)
	fmt.Println(why.Job().Text)
	fmt.Println(why.Totals())
	cause := why.Cause()
	fmt.Println(cause.Code, cause.Attention)
	fmt.Println(cause.Text)
	fmt.Println(cause.Advice)
	// Output:
	// the controller example.com/jobs manages the Job
	// creating 1 pod
	// done 0 · pending 2 · failed 1
	// QuotaExceeded Stuck
	// 1 pod cannot be created: pods "train-" is forbidden: exceeded quota: compute
	// Raise the quota, lower the requests, or wait until enough of what has it ends.
}
