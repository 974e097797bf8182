// Package apiserver processes a Job as the API server of Kubernetes does between the request and
// the storage. It decodes the Job, sets defaults, and runs the real strategies of the Job registry,
// which drop fields that a client may not set and validate the rest. No server runs.
//
// Jobs are encoded and decoded as JSON, as if a client sent them. That truncates times to
// seconds and removes empty lists.
package apiserver
