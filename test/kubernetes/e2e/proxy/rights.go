package proxy

import (
	"fmt"
	"os"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

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
