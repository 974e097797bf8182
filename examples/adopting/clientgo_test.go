package adopting

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/jobfate/jobfate/examples/adopting/clientgo"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// The client-go controller of docs/adopting.md, under faults.
func TestClientGo(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runUnderFaults(t, seed, startClientGo) })
	}
}

func startClientGo(_ *testing.T, ctx context.Context, s *kube.Server) error {
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		return err
	}
	for ctx.Err() == nil { // a process that fails to start is started again
		time.Sleep(100 * time.Millisecond)
		if err = (&clientgo.Controller{Client: client, Name: manager}).Run(ctx, 2); err == nil {
			return nil
		}
	}
	return err
}
