// Package proxy is a proxy between a controller and the API server. It counts requests and
// injects faults according to rules.
//
//	p, err := proxy.Start(server.Config())
//	defer p.Close()
//	c, err := server.Jobfate(ctx, server.Options{Via: p.Config})
//	rule := p.Add(proxy.Rule{Call: proxy.Call{Verb: "patch", Resource: "jobs/status"}, Nth: 3, Do: proxy.LoseReply})
//	…
//	p.Remove(rule)
//
// The proxy forwards the identity of the client, so the server still checks its permissions.
package proxy
