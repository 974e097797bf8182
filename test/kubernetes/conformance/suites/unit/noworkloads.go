//go:build ignore

package job

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// For the releases before 1.36, which have neither Workloads of Jobs nor a consistency
// store.

func (jm *Controller) observed(types.NamespacedName) error { return nil }

type podGroup struct{}

func (l *jobSync) podGroup() (podGroup, error) { return podGroup{}, nil }

func (podGroup) join(*v1.Pod) {}
