package main

import (
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/controller"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func read(file string) string { return string(Must(os.ReadFile(file))) }

// The permission for a lease names the lease of the default --managed-by, and the Deployment uses
// that name.
func TestManifestsNameTheLease(t *testing.T) {
	var s settings
	s.register(flag.NewFlagSet("", flag.ContinueOnError))
	for file, want := range map[string]string{
		"account.yaml":    "resourceNames: [" + controller.LeaseName(s.ManagedBy) + "]",
		"deployment.yaml": " --managed-by=" + s.ManagedBy + " ",
	} {
		if !strings.Contains(read("deploy/base/"+file), want) {
			t.Errorf("deploy/base/%s: want %q in it", file, want)
		}
	}
}

// controller/README.md gives a reason for each verb that the manifests allow, and for no other.
func TestPermissionsAreDocumented(t *testing.T) {
	_, table, _ := strings.Cut(read("../README.md"), "| resource | verbs | why |\n| --- | --- | --- |\n")
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
		verbs, _, _ := strings.Cut(cells[2], " of ")
		for _, verb := range regexp.MustCompile(`[a-z]+`).FindAllString(verbs, -1) {
			documented[resource+" "+verb] = true
		}
	}
	var manifests []string
	for _, file := range []string{"base/account.yaml", "base/metrics.yaml", "all-namespaces/rbac.yaml", "one-namespace/rights/rbac.yaml"} {
		manifests = append(manifests, strings.Split(read("deploy/"+file), "\n---\n")...)
	}
	granted := map[string]bool{}
	for _, manifest := range manifests {
		var role rbacv1.ClusterRole // a Role has the same fields
		NoError(t, yaml.Unmarshal([]byte(manifest), &role))
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				for _, on := range append(rule.Resources, rule.NonResourceURLs...) {
					granted[on+" "+verb] = true
				}
			}
		}
	}
	for _, want := range slices.Sorted(maps.Keys(granted)) {
		if !documented[want] {
			t.Errorf("controller/README.md does not say what %q is for", want)
		}
	}
	for _, said := range slices.Sorted(maps.Keys(documented)) {
		if !granted[said] {
			t.Errorf("controller/README.md has %q, which no role allows", said)
		}
	}
}
