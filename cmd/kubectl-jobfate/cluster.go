package main

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/jobfate/jobfate/cmd/internal/cli"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
)

// cluster holds the objects of a cluster that a selection of Jobs needs.
type cluster struct {
	name      string // the name of the Job; empty for a list
	some      bool   // a list is of Jobs or owners that are named
	namespace string // empty: all namespaces
	config    *rest.Config
	untyped   dynamic.Interface
	typed     kubernetes.Interface
	discover  func() (meta.RESTMapper, error)
	others    objects // what Jobs and pods refer to

	jobs     *table[*kubefile.Manifest]
	cronJobs *table[*batchv1.CronJob]
	pods     *table[*corev1.Pod]
	events   *table[*corev1.Event]
	nodes    *table[*corev1.Node]
}

// connect returns the cluster that the flags name, without reading from it.
func (p *program) connect(s selection) (*cluster, error) {
	config, err := p.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	c := &cluster{name: s.name, some: len(s.targets) > 0, config: config, discover: p.flags.ToRESTMapper}
	if c.namespace, _, err = p.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
		return nil, err
	}
	if s.all {
		c.namespace = metav1.NamespaceAll
	}
	// Jobs are read without a Go type, because the types lack the names of rules.
	if c.untyped, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	binary := rest.CopyConfig(config)
	binary.ContentType = runtime.ContentTypeProtobuf
	binary.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if c.typed, err = kubernetes.NewForConfig(binary); err != nil {
		return nil, err
	}
	jobs := c.untyped.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace(c.namespace)
	c.jobs = newTable("jobs", jobs, func(object runtime.Object) (*kubefile.Manifest, bool, error) {
		m, err := readJob(object.(*unstructured.Unstructured))
		return m, err == nil && s.selects(m.Job), err
	})
	c.jobs.labels, c.jobs.fields = s.narrowed()
	crons := c.typed.BatchV1().CronJobs(c.namespace)
	c.cronJobs = newTable("cronjobs", crons, func(object runtime.Object) (*batchv1.CronJob, bool, error) {
		cron := object.(*batchv1.CronJob)
		return cron, s.selectsCronJob(cron.Name), nil
	})
	c.cronJobs.labels = s.selector
	c.pods = newTable("pods", c.typed.CoreV1().Pods(c.namespace), keepPod)
	c.events = newTable("events", c.typed.CoreV1().Events(c.namespace), keepEvent)
	c.nodes = newTable("nodes", c.typed.CoreV1().Nodes(), keepNode)
	return c, nil
}

// extent says which objects are read for Jobs.
type extent int

const (
	onlyJobs extent = iota
	withPods
	withEvidence // also events and nodes that may explain the state of the pods
)

// read reads the Jobs of a selection. If the selection names a Job, the Job must exist.
func (p *program) read(ctx context.Context, s selection, e extent) (cli.Objects, error) {
	c, err := p.connect(s)
	if err != nil {
		return cli.Objects{}, err
	}
	if err := c.jobs.fill(ctx); err != nil {
		return cli.Objects{}, err
	}
	in := c.objects()
	if missing := s.missing(in.Jobs); missing != "" {
		return cli.Objects{}, notFound(missing)
	}
	if e == withEvidence && s.cronJobs() {
		if err := c.cronJobs.fill(ctx); err != nil && !(refused(err) && s.cron == "") {
			return cli.Objects{}, err
		}
		in = c.objects()
		if s.cron != "" && len(in.CronJobs) == 0 {
			return cli.Objects{}, apierrors.NewNotFound(batchv1.Resource("cronjobs"), s.cron)
		}
	}
	if e == onlyJobs || len(in.Jobs)+len(in.CronJobs) == 0 {
		return in, nil
	}
	if len(in.Jobs) > 0 {
		c.pods.labels = c.podLabels(in.Jobs)
		if err := c.pods.fill(ctx); err != nil {
			return cli.Objects{}, err
		}
	}
	if in = c.objects(); e == withPods {
		return in, nil
	}
	if err := c.readEvidence(ctx, in); err != nil {
		return cli.Objects{}, err
	}
	err = c.others.read(ctx, c)
	return c.objects(), err
}

func notFound(name string) error { return apierrors.NewNotFound(batchv1.Resource("jobs"), name) }

// readEvidence reads objects that may explain the state of pods: events, including those of
// pods and owners if a pod does not run well or is gone, and the nodes of pods that have not ended. A missing
// permission is not an error.
func (c *cluster) readEvidence(ctx context.Context, in cli.Objects) error {
	c.events.fields = "involvedObject.kind=Job"
	switch {
	case c.name != "":
		c.events.fields += ",involvedObject.name=" + c.name
	case len(c.cronJobs.values()) > 0:
		c.events.fields = "involvedObject.kind!=Pod"
	}
	if slices.ContainsFunc(in.Jobs, func(m *kubefile.Manifest) bool { return lostPods(m.Job, in.Pods) }) {
		c.events.fields = ""
	}
	nodes := map[string]bool{}
	for _, pod := range in.Pods {
		switch pod.Status.Phase {
		case corev1.PodSucceeded, corev1.PodFailed:
			continue
		}
		if !runsWell(pod) {
			c.events.fields = ""
		}
		if node := pod.Spec.NodeName; node != "" {
			nodes[node] = true
			c.nodes.fields = "metadata.name=" + node
		}
	}
	if err := c.events.fill(ctx); err != nil && !refused(err) {
		return err
	}
	if len(nodes) == 0 {
		return nil
	}
	if len(nodes) > 1 {
		c.nodes.fields = ""
	}
	err := c.nodes.fill(ctx)
	if err == nil && c.nodes.fields != "" && len(c.nodes.values()) == 0 {
		c.nodes.fields = "" // if others exist, this one is gone
		err = c.nodes.fill(ctx)
	}
	if err != nil && !refused(err) {
		return err
	}
	return nil
}

// runsWell reports whether the containers of a pod run, and none has restarted.
func runsWell(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && !slices.ContainsFunc(pod.Status.ContainerStatuses,
		func(s corev1.ContainerStatus) bool { return s.State.Running == nil || s.RestartCount > 0 })
}

// mostUIDs limits the Jobs that a selector names.
const mostUIDs = 50

// podLabels returns a label selector for the pods of Jobs. For several Jobs with generated
// selectors it is the label that all these selectors use, with its values if they are few and
// other Jobs were not asked for. Otherwise it selects all pods.
func (c *cluster) podLabels(jobs []*kubefile.Manifest) string {
	if c.name != "" {
		selector, err := metav1.LabelSelectorAsSelector(jobs[0].Job.Spec.Selector)
		if err != nil {
			return "" // the decision will fail on the invalid selector
		}
		return selector.String()
	}
	if len(jobs) == 0 {
		return batchv1.ControllerUidLabel
	}
	label := uidLabel(jobs[0].Job)
	if slices.ContainsFunc(jobs, func(m *kubefile.Manifest) bool { return uidLabel(m.Job) != label }) {
		return ""
	}
	if c.some && label != "" && len(jobs) <= mostUIDs {
		var uids []string
		for _, m := range jobs {
			uids = append(uids, string(m.Job.UID))
		}
		return label + " in (" + strings.Join(uids, ",") + ")"
	}
	return label
}

// uidLabel returns the label that the generated selector of a Job uses. It is empty if the selector
// is not generated.
func uidLabel(job *batchv1.Job) string {
	for _, label := range []string{batchv1.ControllerUidLabel, "controller-uid"} { // the latter before Kubernetes 1.27
		if job.Spec.Selector != nil && job.Spec.Selector.MatchLabels[label] == string(job.UID) {
			return label
		}
	}
	return ""
}

// objects returns the objects that were read, with notes about those that were not.
func (c *cluster) objects() cli.Objects {
	in := &kubefile.Input{Jobs: c.jobs.values(), Pods: c.pods.values(), Events: c.events.values(),
		Nodes: c.nodes.values(), CronJobs: c.cronJobs.values(), Objects: c.others.all}
	for _, pod := range in.Pods {
		in.PodsAt = append(in.PodsAt, kubefile.Place{File: "pod/" + pod.Name})
	}
	out := cli.Objects{Live: true, AllNodes: c.nodes.fields == "" && c.nodes.failed() == nil,
		AllNamespaces: c.namespace == "", Input: in, Refused: c.others.refused, Refusal: c.others.refusal}
	c.jobs.report(&out)
	if !slices.Contains(out.Refused, cronJobs.Kind) { // the same refusal
		c.cronJobs.report(&out)
	}
	c.pods.report(&out)
	c.events.report(&out)
	c.nodes.report(&out)
	return out
}

func (t *table[T]) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure
}

// report adds why the last request failed.
func (t *table[T]) report(out *cli.Objects) {
	err := t.failed()
	switch {
	case err == nil:
	case refused(err):
		out.Refused, out.Refusal = append(slices.Clone(out.Refused), t.resource), cmp.Or(out.Refusal, err)
	default:
		out.Notes = append(out.Notes, cli.NewNote("NotUpToDate", "%s may be stale: %v", t.resource, err))
	}
}

// readJob reads a Job, including fields that the Go types lack.
func readJob(job *unstructured.Unstructured) (*kubefile.Manifest, error) {
	text, err := job.MarshalJSON()
	if err != nil {
		return nil, err
	}
	at := kubefile.Place{File: "job/" + job.GetName()}
	in, err := kubefile.Read(kubefile.Source{Name: at.File, Reader: bytes.NewReader(text)})
	if err != nil {
		return nil, err
	}
	in.Jobs[0].At = at
	return in.Jobs[0], nil
}

// keepPod drops the parts of a pod that no answer depends on. Protobuf, unlike JSON, brings messages of
// containers that are not UTF-8.
func keepPod(object runtime.Object) (*corev1.Pod, bool, error) {
	pod := object.(*corev1.Pod)
	pod.ManagedFields = nil
	pod.Spec.EphemeralContainers = nil
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			containers[i].Env, containers[i].Command, containers[i].Args = nil, nil, nil
		}
	}
	for _, statuses := range statusesOf(pod) {
		for i := range statuses {
			for _, state := range []*corev1.ContainerState{&statuses[i].State, &statuses[i].LastTerminationState} {
				if state.Terminated != nil {
					state.Terminated.Message = valid(state.Terminated.Message)
				}
				if state.Waiting != nil {
					state.Waiting.Message = valid(state.Waiting.Message)
				}
			}
		}
	}
	return pod, true, nil
}

func statusesOf(pod *corev1.Pod) [][]corev1.ContainerStatus {
	return [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses}
}

// lostPods reports whether failed pods of a Job are gone, so that only their events say how they failed.
func lostPods(job *batchv1.Job, pods []*corev1.Pod) bool {
	failed := job.Status.Failed
	for i := 0; failed > 0 && i < len(pods); i++ {
		if pods[i].Status.Phase == corev1.PodFailed && metav1.IsControlledBy(pods[i], job) {
			failed--
		}
	}
	return failed > 0 || slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Reason == batchv1.JobReasonDeadlineExceeded && c.Status == corev1.ConditionTrue
	})
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// keepEvent keeps the events of Jobs, pods, and what they refer to.
func keepEvent(object runtime.Object) (*corev1.Event, bool, error) {
	event := object.(*corev1.Event)
	event.ManagedFields, event.Message = nil, valid(event.Message)
	about := event.InvolvedObject.GroupVersionKind()
	return event, about.Kind == "Job" || about.Kind == "Pod" || cli.IsEvidence(about.Group, about.Kind), nil
}

// keepNode keeps the conditions of a node.
func keepNode(object runtime.Object) (*corev1.Node, bool, error) {
	node := object.(*corev1.Node)
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name},
		Status: corev1.NodeStatus{Conditions: node.Status.Conditions}}, true, nil
}
