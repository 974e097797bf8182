package proxy

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Call is a kind of request.
type Call struct {
	// Verb is the verb of the API: get, list, watch, create, update, patch, delete.
	Verb string
	// Resource is a plural, with a subresource after a slash: pods, jobs/status, events. For
	// other requests it is the path.
	Resource string
}

func (c Call) String() string { return c.Verb + " " + c.Resource }

// matches reports whether another call is of this kind. An empty field matches any value.
func (c Call) matches(other Call) bool {
	return (c.Verb == "" || c.Verb == other.Verb) && (c.Resource == "" || c.Resource == other.Resource)
}

var infos = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

func callOf(r *http.Request) Call {
	info, err := infos.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest {
		return Call{strings.ToLower(r.Method), r.URL.Path}
	}
	if info.Subresource != "" {
		return Call{info.Verb, info.Resource + "/" + info.Subresource}
	}
	return Call{info.Verb, info.Resource}
}

// Counts holds the numbers of requests by kind.
type Counts map[Call]int

// Of sums the requests of a kind; an empty field of the call matches any value.
func (c Counts) Of(call Call) int {
	n := 0
	for other, count := range c {
		if call.matches(other) {
			n += count
		}
	}
	return n
}

// Unused returns the permissions of the ClusterRoles in a file of manifests that no request has used, except those
// that other API servers ask for, or rare cases, one on each line.
func (c Counts) Unused(file string, rare ...string) (rights string, err error) {
	manifests, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	roles := 0
	for manifest := range strings.SplitSeq(string(manifests), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(manifest), &role); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		if role.Kind != "ClusterRole" {
			continue
		}
		roles++
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					right := Call{Verb: verb, Resource: resource}
					if c.Of(right) == 0 && !slices.Contains(rare, right.String()) {
						rights += right.String() + "\n"
					}
				}
			}
		}
	}
	if roles == 0 {
		return "", fmt.Errorf("%s: there is no ClusterRole", file)
	}
	return rights, nil
}
