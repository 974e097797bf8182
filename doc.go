// Package jobfate decides the fate of a Kubernetes Job.
package jobfate
