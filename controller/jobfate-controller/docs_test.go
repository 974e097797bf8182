package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// controller/README.md gives a reason for each verb that the manifests allow.
func TestPermissionsAreDocumented(t *testing.T) {
	document, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(document), "| resource | verbs | why |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	documented := map[string]bool{} // by resource and verb
	resource := ""
	for _, row := range strings.Split(table, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			t.Fatalf("not a row of a table: %s", row)
		}
		if _, name, ok := strings.Cut(cells[1], "`"); ok {
			resource, _, _ = strings.Cut(name, "`")
		}
		for _, verb := range regexp.MustCompile(`[a-z]+`).FindAllString(cells[2], -1) {
			documented[resource+" "+verb] = true
		}
	}
	var manifests []byte
	for _, file := range []string{"base/account.yaml", "base/metrics.yaml", "all-namespaces/rbac.yaml", "one-namespace/rights/rbac.yaml"} {
		manifest, err := os.ReadFile("deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(append(manifests, manifest...), "\n---\n"...)
	}
	for _, manifest := range strings.Split(string(manifests), "\n---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal([]byte(manifest), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				for _, on := range append(rule.Resources, rule.NonResourceURLs...) {
					if want := on + " " + verb; !documented[want] {
						t.Errorf("controller/README.md does not say what %q is for", want)
					}
				}
			}
		}
	}
}
