// Package proxy stands between a controller and the API server. It counts the
// requests, and disturbs them by rules.
//
//	p, err := proxy.Start(server.Config())
//	defer p.Close()
//	c, err := server.Jobfate(ctx, server.Options{Via: p.Config})
//	rule := p.Add(proxy.Rule{Call: proxy.Call{Verb: "patch", Resource: "jobs/status"}, Nth: 3, Do: proxy.LoseReply})
//	…
//	p.Remove(rule)
//
// It passes on who asks, so that the server still checks permissions.
package proxy
