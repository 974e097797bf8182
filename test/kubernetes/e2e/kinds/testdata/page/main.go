// This program runs one Suite with the code of docs/adopting.md, which the test adds as another
// file of this package. It fails on the first error of a sync.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/machine"
)

// viewed is the resource version of the Suite in the View.
var viewed string

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	scheme.Scheme.AddKnownTypeWithName(suiteKind, &Suite{})
	metav1.AddToGroupVersion(scheme.Scheme, suiteKind.GroupVersion())
	c, err := client.New(&rest.Config{Host: os.Getenv("HOST"), BearerToken: os.Getenv("TOKEN"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: os.Getenv("CA")}}, client.Options{})
	if err != nil {
		return err
	}
	m := newMachine()
	for range 600 {
		suite, list := &Suite{}, &corev1.PodList{}
		err := errors.Join(
			c.Get(ctx, client.ObjectKey{Namespace: os.Getenv("NAMESPACE"), Name: "suite"}, suite),
			c.List(ctx, list, client.InNamespace(os.Getenv("NAMESPACE"))))
		if err != nil {
			return err
		}
		var pods []*corev1.Pod
		for i := range list.Items {
			pods = append(pods, &list.Items[i])
		}
		viewed = suite.ResourceVersion
		if err := begin(m, suite, pods); err != nil {
			return err
		}
		result := m.Run(func(r machine.Request) (runtime.Object, error) { return send(ctx, c, r) })
		if result.Err != nil || result.Ended {
			return result.Err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the Suite does not end")
}

// DeepCopyObject implements runtime.Object.
func (s *Suite) DeepCopyObject() runtime.Object {
	return &Suite{s.TypeMeta, *s.ObjectMeta.DeepCopy(), SuiteSpec{*s.Spec.Job.DeepCopy()}, SuiteStatus{*s.Status.Job.DeepCopy()}}
}

func sendForPods(ctx context.Context, c client.Client, r machine.Request) (runtime.Object, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
	switch r.Verb {
	case machine.ListPods:
		list := &corev1.PodList{}
		return list, c.List(ctx, list, client.InNamespace(r.Namespace))
	case machine.CreatePod:
		return r.Pod, c.Create(ctx, r.Pod)
	case machine.PatchPod:
		return pod, c.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, r.Patch))
	}
	return nil, fmt.Errorf("not expected: %s", r.Verb)
}
