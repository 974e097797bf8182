// Package kubelet simulates the scheduler, the nodes and the kubelets in a test. It moves
// pods through their phases according to a script, and performs their graceful deletion.
//
//	k := kubelet.Start(ctx, client, namespace, func(p kubelet.Pod) kubelet.Life {
//		if p.Index == 1 && p.Attempt < 2 {
//			return kubelet.Fail(3)
//		}
//		return kubelet.Succeed().After(time.Second)
//	})
//
// [Kubelet.Become] changes the script of a pod. A test can thus proceed step by step: it
// lets all pods run forever, and then ends some of them.
//
// A pod without scheduling gates is bound to a node that does not exist. It runs, becomes
// ready and ends, with the statuses and finish times of its containers. A pod that is being
// deleted gets a terminal phase and is then deleted without a grace period, as by the real
// kubelet. It remains while it has a finalizer. If the server was stopped while it deleted a
// pod, the deletion is repeated.
//
// It reads no Jobs, only pods, with the labels and annotations that a script needs.
package kubelet
