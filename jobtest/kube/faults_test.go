package kube_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

var podResource = schema.GroupResource{Resource: "pods"}

// once applies a fault to the first request with a verb.
func once(s *kube.Server, verb string, verdict kube.Verdict) *int {
	asked := 0
	s.Intercept(func(r *kube.Request) kube.Verdict {
		if r.Verb != verb {
			return kube.Verdict{}
		}
		if asked++; asked > 1 {
			return kube.Verdict{}
		}
		return verdict
	})
	return &asked
}

func TestFaults(t *testing.T) {
	reset := errors.New("connection reset by peer")
	quota := apierrors.NewForbidden(podResource, "a", errors.New("exceeded quota: q"))
	for _, test := range []struct {
		name    string
		verdict kube.Verdict
		// is reports whether the error is the expected one; nil means no error.
		is func(error) bool
		// stored says whether the pod exists afterwards, tries how many requests were sent.
		stored bool
		tries  int
	}{
		{"nothing", kube.Verdict{}, nil, true, 1},
		{"conflict", kube.Verdict{Err: apierrors.NewConflict(podResource, "a", errors.New("x"))}, apierrors.IsConflict, false, 1},
		{"invalid", kube.Verdict{Err: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil)}, apierrors.IsInvalid, false, 1},
		{"internal", kube.Verdict{Err: apierrors.NewInternalError(errors.New("x"))}, apierrors.IsInternalError, false, 1},
		{"too many requests, once", kube.Verdict{Err: apierrors.NewTooManyRequests("slow down", 2)}, nil, true, 2},
		{"quota", kube.Verdict{Err: quota}, func(err error) bool {
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
		}, false, 1},
		{"timeout without effect", kube.Verdict{Err: apierrors.NewTimeoutError("x", 0)}, apierrors.IsTimeout, false, 1},
		{"timeout with effect", kube.Verdict{Err: apierrors.NewTimeoutError("x", 0), Lost: true}, apierrors.IsTimeout, true, 1},
		{"broken connection", kube.Verdict{Err: reset}, func(err error) bool { return errors.Is(err, reset) }, false, 1},
		{"lost answer", kube.Verdict{Err: reset, Lost: true}, func(err error) bool { return errors.Is(err, reset) }, true, 1},
		{"slow", kube.Verdict{Delay: 9 * time.Second}, nil, true, 1},
		{"too slow", kube.Verdict{Delay: 11 * time.Second}, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, false, 1},
		{"too slow an answer", kube.Verdict{Delay: 11 * time.Second, Lost: true}, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, true, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := kube.New(kube.Options{})
				tries := once(s, "create", test.verdict)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				start := time.Now()
				defer cancel()
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: MinimalPodSpec()}
				_, err := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
				if test.is == nil && err != nil || test.is != nil && !test.is(err) {
					t.Errorf("the error is %v", err)
				}
				_, stored := kube.Get[*corev1.Pod](s, "default", "a")
				Same(t, "stored", stored, test.stored)
				if seconds, _ := apierrors.SuggestsClientDelay(test.verdict.Err); time.Since(start) < time.Duration(seconds)*time.Second {
					t.Errorf("the client waited %s, want %d s", time.Since(start), seconds)
				}
				Same(t, "tries", *tries, test.tries)
			})
		})
	}
}

// Changes by the Intercept function happen before the request.
func TestInterceptChangesTheClusterFirst(t *testing.T) {
	s := kube.New(kube.Options{})
	client := kubernetes.NewForConfigOrDie(s.Config())
	job := Must(client.BatchV1().Jobs("default").Create(t.Context(), PlainJob("a"), metav1.CreateOptions{}))
	s.Intercept(func(r *kube.Request) kube.Verdict {
		if r.Verb == "update" {
			kube.Edit(s, "default", "a", func(j *batchv1.Job) { j.Labels["x"] = "y" })
		}
		return kube.Verdict{}
	})
	if _, err := client.BatchV1().Jobs("default").Update(t.Context(), job, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("the error is %v, want a conflict", err)
	}
}

func TestObserve(t *testing.T) {
	s := kube.New(kube.Options{})
	var changes []string
	s.Observe(func(c kube.Change) {
		who := "an actor"
		if c.Request != nil {
			who = c.Request.UserAgent + " " + c.Request.Verb
		}
		obj, what := c.New, "made"
		switch {
		case c.New == nil:
			obj, what = c.Old, "removed"
		case c.Old != nil:
			what = "changed"
		}
		changes = append(changes, who+" "+what+" "+obj.GetName())
	})
	config := s.Config()
	config.UserAgent = "me"
	client := kubernetes.NewForConfigOrDie(config)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: MinimalPodSpec()}
	Must(client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}))
	if kubelet := (kube.Kubelet{Server: s}); !kubelet.Start("default", "a") || !kubelet.End("default", "a", 0) || kubelet.End("default", "a", 0) {
		t.Error("the kubelet did not act once for each call")
	}
	NoError(t, client.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	want := []string{"me create made a", "an actor changed a", "an actor changed a", "me delete changed a", "me delete removed a"}
	Same(t, "changes", changes, want)
}

// A new watch or list of a compacted revision is rejected. An open watch continues.
func TestCompact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kube.New(kube.Options{})
		maps := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().ConfigMaps("default")
		var versions []string
		for _, name := range []string{"a", "b", "c"} {
			m := Must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
			versions = append(versions, m.ResourceVersion)
		}
		open := Must(maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: versions[0]}))
		defer open.Stop()
		page := Must(maps.List(t.Context(), metav1.ListOptions{Limit: 1}))
		Must(maps.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data":{"x":"y"}}`), metav1.PatchOptions{}))
		s.Compact(s.Revision())
		for _, want := range []string{"b", "c", "a"} {
			e := <-open.ResultChan()
			if m, ok := e.Object.(*corev1.ConfigMap); !ok || m.Name != want {
				t.Errorf("the open watch got %s %v, want %s", e.Type, e.Object, want)
			}
		}
		late := Must(maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: versions[1]}))
		if e := <-late.ResultChan(); e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			t.Errorf("the late watch got %s %v", e.Type, e.Object)
		}
		for name, options := range map[string]metav1.ListOptions{
			"continue": {Continue: page.Continue},
			"exact":    {ResourceVersion: versions[1], ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		} {
			if _, err := maps.List(t.Context(), options); !apierrors.IsResourceExpired(err) {
				t.Errorf("%s: the error is %v", name, err)
			}
		}
		future := metav1.ListOptions{ResourceVersion: "1000000"}
		if _, err := maps.List(t.Context(), future); !apierrors.IsTimeout(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
			t.Errorf("a list of the future: %v", err)
		}
	})
}

// The function of ConfigFor decides about the requests of its client alone. It can answer them with
// objects that the server does not store: the selectors of a list and the format of the answer apply.
func TestConfigFor_answers(t *testing.T) {
	s := kube.New(kube.Options{})
	var asked []string
	pods := []kube.Object{
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", ResourceVersion: "7", Labels: map[string]string{"app": "x"}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "b", ResourceVersion: "9"}},
	}
	own := kubernetes.NewForConfigOrDie(s.ConfigFor(func(r *kube.Request) kube.Verdict {
		asked = append(asked, r.Verb+" "+r.Name)
		switch {
		case r.Resource.Resource != "pods":
			return kube.Verdict{}
		case r.Verb == "list":
			return kube.Verdict{Answer: &kube.Answer{Objects: pods, Version: "12"}}
		case r.Verb == "get" && r.Name == "a":
			return kube.Verdict{Answer: &kube.Answer{Objects: pods[:1]}}
		}
		return kube.Verdict{Answer: &kube.Answer{}}
	}))
	ctx := t.Context()
	for _, c := range []struct {
		namespace, labels string
		want              []string
	}{{"", "", []string{"a7", "b9"}}, {"other", "", []string{"b9"}}, {"", "app=x", []string{"a7"}}, {"", "app!=x", []string{"b9"}}} {
		list := Must(own.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: c.labels}))
		got := Each(list.Items, func(pod corev1.Pod) string { return pod.Name + pod.ResourceVersion })
		if !slices.Equal(got, c.want) || list.ResourceVersion != "12" {
			t.Errorf("namespace %q, labels %q: %v at version %s, want %v at 12", c.namespace, c.labels, got, list.ResourceVersion, c.want)
		}
	}
	pod, err := own.CoreV1().Pods("default").Get(ctx, "a", metav1.GetOptions{})
	if err != nil || pod.ResourceVersion != "7" || pod.Labels["app"] != "x" {
		t.Errorf("got %v, %v", pod, err)
	}
	if _, err := own.CoreV1().Pods("default").Get(ctx, "z", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("no object: %v, want a 404", err)
	}
	if err := own.CoreV1().Pods("default").Delete(ctx, "z", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion without an object: %v", err)
	}
	if _, err := own.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{}); err != nil {
		t.Errorf("the zero Verdict: %v", err)
	}
	asked = nil
	others := kubernetes.NewForConfigOrDie(s.Config())
	if list, err := others.CoreV1().Pods("").List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) > 0 || asked != nil {
		t.Errorf("another client gets %v, %v; the function was asked %v", list, err, asked)
	}
}
