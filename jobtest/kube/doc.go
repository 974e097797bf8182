// Package kube is an API server in process, for tests of controllers.
package kube
