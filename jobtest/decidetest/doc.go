// Package decidetest helps to test decisions. It draws snapshots with writes in flight, parses
// Jobs and makes their pods.
package decidetest
