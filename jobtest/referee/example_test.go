package referee_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/podtest"
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
	c := podtest.Must(cluster.New(podtest.PlainJob("job"), jobtest.Noon()))
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
