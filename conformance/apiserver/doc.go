// Package apiserver is what the API server of Kubernetes does to a Job between
// a request and its storage: decoding, defaults, and the real strategies of the
// Job registry, which drop what a client may not set and validate the rest. No
// server runs.
//
// Jobs come as a client sends them: through JSON. That cuts times to seconds
// and makes empty lists absent.
package apiserver
