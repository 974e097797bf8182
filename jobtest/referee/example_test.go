package referee_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// hasty deletes pods without a UID precondition.
type hasty struct{ *cluster.Caller }

func (h hasty) Sync(client *cluster.Client) (time.Duration, error) {
	for _, pod := range client.Pods {
		if err := client.DeletePod(pod, metav1.DeleteOptions{}); err != nil {
			return 0, err
		}
	}
	return h.Caller.Sync(client)
}

func ExampleRules_See() {
	job := &batchv1.Job{}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}}}
	c, err := cluster.New(job, jobtest.Noon())
	if err != nil {
		fmt.Println(err)
		return
	}
	var ghost referee.Ghost
	ghost.Started(c.Job())
	c.Watch = func(s cluster.Step) {
		if v := (referee.Rules{}).See(&ghost, &s); v != nil {
			fmt.Println(v)
		}
	}
	controller, cache := hasty{jobtest.NewCaller()}, c.NewCache(true)
	for range 2 {
		c.Run(controller, cache)
	}
	// Output:
	// S15: a delete of pod-1 does not name its UID
}
