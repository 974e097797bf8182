package main

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// read reads the only manifest of a kind in a file. An unknown field is an error.
func read[T any](t *testing.T, file, kind string) T {
	t.Helper()
	var found []T
	text, err := os.ReadFile("deploy/" + file)
	must(t, err)
	for manifest := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		var is struct{ Kind string }
		must(t, yaml.Unmarshal([]byte(manifest), &is))
		if is.Kind == kind {
			var object T
			must(t, yaml.UnmarshalStrict([]byte(manifest), &object))
			found = append(found, object)
		}
	}
	if len(found) != 1 {
		t.Fatalf("deploy/%s has %d objects of the kind %s, want one", file, len(found), kind)
	}
	return found[0]
}

// The schema has every field of a Job status: the API server prunes unknown fields, and pods would
// be counted again.
func TestSchemaKeepsStatus(t *testing.T) {
	crd := read[apiextensionsv1.CustomResourceDefinition](t, "crd.yaml", "CustomResourceDefinition")
	version := crd.Spec.Versions[0]
	if version.Subresources == nil || version.Subresources.Status == nil {
		t.Error("there is no status subresource")
	}
	job := version.Schema.OpenAPIV3Schema.Properties["status"].Properties["job"]
	hasFields(t, "status.job", reflect.TypeFor[batchv1.JobStatus](), job)
	hasFields(t, "status.job.uncountedTerminatedPods", reflect.TypeFor[batchv1.UncountedTerminatedPods](), job.Properties["uncountedTerminatedPods"])
	hasFields(t, "status.job.conditions", reflect.TypeFor[batchv1.JobCondition](), *job.Properties["conditions"].Items.Schema)
}

func hasFields(t *testing.T, path string, of reflect.Type, schema apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if _, has := schema.Properties[name]; !has {
			t.Errorf("%s.%s is not in the schema", path, name)
		}
	}
}

// The arguments, ports and probes of the Deployment fit the program, and its account may use the
// lease of the program.
func TestDeployment(t *testing.T) {
	container := read[appsv1.Deployment](t, "deployment.yaml", "Deployment").Spec.Template.Spec.Containers[0]
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	o := register(flags)
	if err := flags.Parse(container.Args); err != nil || flags.NArg() > 0 {
		t.Errorf("the program rejects the arguments %q: %v", container.Args, err)
	}
	ports := map[string]string{}
	for _, port := range container.Ports {
		ports[port.Name] = fmt.Sprintf(":%d", port.ContainerPort)
	}
	if ports["metrics"] != o.Metrics.BindAddress || ports["probes"] != o.HealthProbeBindAddress {
		t.Errorf("got the ports %v, want %s and %s", ports, o.Metrics.BindAddress, o.HealthProbeBindAddress)
	}
	role := read[rbacv1.Role](t, "rbac.yaml", "Role")
	if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Equal(r.ResourceNames, []string{o.LeaderElectionID}) }) {
		t.Errorf("the role does not allow the lease %s", o.LeaderElectionID)
	}
}

// README.md shows the sample, and states the size of the program.
func TestReadme(t *testing.T) {
	const most = 200 // lines
	file := func(name string) string {
		text, err := os.ReadFile(name)
		must(t, err)
		return string(text)
	}
	_, sample, _ := strings.Cut(file("deploy/samples/suite.yaml"), "\n") // without the comment
	if !strings.Contains(file("README.md"), "```yaml\n"+sample+"```") {
		t.Errorf("README.md does not show the sample:\n%s", sample)
	}
	if lines := strings.Count(file("main.go")+file("types.go"), "\n"); lines > most {
		t.Errorf("there are %d lines, want at most %d", lines, most)
	}
}
