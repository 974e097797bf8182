package kube

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ client.Reader = nil
