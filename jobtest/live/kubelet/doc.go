// Package kubelet plays the scheduler, the nodes and the kubelets of a test: it
// moves pods through their phases by a script, and carries out their graceful
// deletion.
//
//	k := kubelet.Start(ctx, client, namespace, func(p kubelet.Pod) kubelet.Life {
//		if p.Index == 1 && p.Attempt < 2 {
//			return kubelet.Fail(3)
//		}
//		return kubelet.Succeed().After(time.Second)
//	})
//
// What a script has decided for a pod, [Kubelet.Become] changes, so that a test
// can also go step by step: let pods run for ever, then end the ones it picks.
//
// A pod is bound to a node that does not exist, once it has no scheduling gates; it
// runs, is ready, and ends: with the statuses and finish times of its containers. A pod
// that is deleted first gets a terminal phase and is then deleted with no grace period,
// as by the real kubelet; it stays, of course, as long as it has a finalizer.
//
// The package knows no Jobs: only pods, and the labels and annotations that a script
// reads.
package kubelet
