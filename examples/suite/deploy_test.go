package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/jobfate/jobfate/examples/internal/trial"
	. "github.com/jobfate/jobfate/internal/podtest"
)

var program = trial.Program{
	Name: "suite", Kind: groupVersion.WithKind("Suite"), NewScheme: newScheme, Register: register, NewManager: newManager,
}

func TestDeployment(t *testing.T) { program.CheckDeployment(t) }

func TestPermissions(t *testing.T) { program.CheckPermissions(t) }

// The schema has every field of a Job status: the API server prunes unknown fields, and pods would
// be counted again.
func TestSchemaKeepsStatus(t *testing.T) {
	crd := program.Manifests(t)["CustomResourceDefinition suites.jobfate.dev"].(*apiextensionsv1.CustomResourceDefinition)
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

// README.md shows the sample, and states the size of the program.
func TestReadme(t *testing.T) {
	const most = 200 // lines
	file := func(name string) string { return string(Must(os.ReadFile(name))) }
	_, sample, _ := strings.Cut(file("deploy/samples/suite.yaml"), "\n") // without the comment
	if !strings.Contains(file("README.md"), "```yaml\n"+sample+"```") {
		t.Errorf("README.md does not show the sample:\n%s", sample)
	}
	if lines := strings.Count(file("main.go")+file("types.go"), "\n"); lines > most {
		t.Errorf("there are %d lines, want at most %d", lines, most)
	}
}
