package proxy

import (
	"fmt"
	"os"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// ClusterRights returns the permissions of the ClusterRoles in a file of manifests.
func ClusterRights(file string) (rights []Call, err error) {
	manifests, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for manifest := range strings.SplitSeq(string(manifests), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(manifest), &role); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if role.Kind != "ClusterRole" {
			continue
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					rights = append(rights, Call{Verb: verb, Resource: resource})
				}
			}
		}
	}
	if len(rights) == 0 {
		return nil, fmt.Errorf("%s: there is no ClusterRole", file)
	}
	return rights, nil
}
