package main

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/kube"
)

// loadAll stores all samples on the server, at an interesting time.
func loadAll(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	for _, g := range goldens {
		s.load(g.sample)
	}
	s.now = at("2023-08-21T10:00:40Z")
	return s
}

func TestSelection(t *testing.T) {
	s := loadAll(t)
	s.suspended("elsewhere", "crawl", map[string]string{"team": "a"})
	s.suspended("default", "other", map[string]string{"team": "a"})
	s.transcript("selection.txt")
}

// suspended creates a suspended Job, which needs no pods.
func (s *stage) suspended(namespace, name string, labels map[string]string) *batchv1.Job {
	s.Helper()
	namespaces := s.client.CoreV1().Namespaces()
	if _, err := namespaces.Get(s.Context(), namespace, metav1.GetOptions{}); err != nil {
		if _, err := namespaces.Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	job := newJob(name)
	job.Namespace, job.Labels, job.Spec.Suspend = namespace, labels, new(true)
	return s.create(job)
}

func newJob(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: batchv1.JobSpec{Parallelism: new(int32(2)), Completions: new(int32(2)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}}}}},
	}
}

func (s *stage) create(job *batchv1.Job) *batchv1.Job {
	s.Helper()
	made, err := s.client.BatchV1().Jobs(job.Namespace).Create(s.Context(), job, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return made
}

// pod creates a pod like the Job controller.
func (s *stage) pod(job *batchv1.Job, name string) *corev1.Pod {
	s.Helper()
	made, err := s.client.CoreV1().Pods(job.Namespace).Create(s.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: job.Spec.Template.Labels, Finalizers: []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Spec: job.Spec.Template.Spec,
	}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return made
}

// TestPodsWithoutAController checks that an orphan pod is read if a Job selects it.
func TestPodsWithoutAController(t *testing.T) {
	s := newStage(t)
	job := s.create(newJob("a"))
	s.pod(job, "a-1")
	s.pod(job, "a-2")
	kube.Edit(s.server, "default", "a-2", func(pod *corev1.Pod) { pod.OwnerReferences = nil })
	s.want(0, []string{"a"}, "Job default/a, 2 pods", "\n  adopt pod a-2\n")
	s.want(0, []string{"--all", "-o", "yaml"}, "claims:\n  - action: adopt\n    pod: a-2\n")
}

// manual creates a Job with a manual selector.
func (s *stage) manual(name string) *batchv1.Job {
	s.Helper()
	job := newJob(name)
	job.Spec.ManualSelector, job.Spec.Selector = new(true), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	job.Spec.Template.Labels = map[string]string{"app": "a"}
	return s.create(job)
}

// TestManualSelector checks that all pods are read if one of the Jobs has a manual selector.
func TestManualSelector(t *testing.T) {
	s := newStage(t)
	job := s.manual("manual")
	s.pod(job, "manual-1")
	s.pod(s.create(newJob("usual")), "usual-1")
	s.want(0, []string{"manual"}, "Job default/manual, 1 pod,")
	s.take("list jobs metadata.name=manual", "list pods app=a", "list events")
	s.want(0, []string{"--all", "-o", "json"}, `"pods": 1,`)
	s.take("list jobs", "list cronjobs", "list pods", "list events")
}

// take checks the requests since the last call.
func (s *stage) take(want ...string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.requests, want) {
		s.Errorf("got the requests %q\nwant %q", s.requests, want)
	}
	s.requests = nil
}
