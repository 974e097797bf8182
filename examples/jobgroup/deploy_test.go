package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// readManifests reads all files of deploy by kind and name. A field that the kind does not have is
// an error.
func readManifests(t *testing.T) map[string]metav1.Object {
	t.Helper()
	scheme := testScheme()
	must(t, apiextensionsv1.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	files, err := filepath.Glob("deploy/*.yaml")
	must(t, err)
	samples, err := filepath.Glob("deploy/samples/*.yaml")
	must(t, err)
	all := map[string]metav1.Object{}
	for _, file := range append(files, samples...) {
		text, err := os.ReadFile(file)
		must(t, err)
		for manifest := range strings.SplitSeq(string(text), "\n---\n") {
			object, kind, err := decoder.Decode([]byte(manifest), nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all[kind.Kind+" "+object.(metav1.Object).GetName()] = object.(metav1.Object)
		}
	}
	return all
}

// The arguments, account, ports and probes of the Deployment fit the program and the permissions.
func TestDeployment(t *testing.T) {
	all := readManifests(t)
	deployment, ok := all["Deployment jobgroup-controller"].(*appsv1.Deployment)
	if !ok {
		t.Fatal("there is no Deployment")
	}
	template := deployment.Spec.Template
	if selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector); err != nil || !selector.Matches(labels.Set(template.Labels)) {
		t.Errorf("the selector %v does not select pods labelled %v (%v)", selector, template.Labels, err)
	}
	if got := all["ServiceAccount "+template.Spec.ServiceAccountName]; got == nil || got.GetNamespace() != deployment.Namespace {
		t.Errorf("no service account %s in %s", template.Spec.ServiceAccountName, deployment.Namespace)
	}

	container := template.Spec.Containers[0]
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	o := register(flags)
	if err := flags.Parse(container.Args); err != nil || flags.NArg() > 0 {
		t.Errorf("the program rejects the arguments %q: %v", container.Args, err)
	}
	ports := map[string]string{}
	for _, port := range container.Ports {
		ports[port.Name] = fmt.Sprintf(":%d", port.ContainerPort)
	}
	if got, want := ports["metrics"], o.Metrics.BindAddress; got != want {
		t.Errorf("the port of metrics: got %s, want %s", got, want)
	}
	for path, probe := range map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		if probe.HTTPGet.Path != path || ports[probe.HTTPGet.Port.StrVal] != o.HealthProbeBindAddress {
			t.Errorf("the probe of %s: got %+v, want it at %s", path, probe.HTTPGet, o.HealthProbeBindAddress)
		}
	}
}

// The account is bound to both roles, and may use only its own lease.
func TestPermissions(t *testing.T) {
	all := readManifests(t)
	account := rbacv1.Subject{Kind: "ServiceAccount", Name: "jobgroup-controller", Namespace: "jobgroup"}
	to := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: "jobgroup-controller"}
	}
	cluster, _ := all["ClusterRoleBinding jobgroup-controller"].(*rbacv1.ClusterRoleBinding)
	if cluster == nil || cluster.RoleRef != to("ClusterRole") || !slices.Equal(cluster.Subjects, []rbacv1.Subject{account}) {
		t.Errorf("the cluster role is bound by %+v", cluster)
	}
	binding, _ := all["RoleBinding jobgroup-controller"].(*rbacv1.RoleBinding)
	if binding == nil || binding.RoleRef != to("Role") || !slices.Equal(binding.Subjects, []rbacv1.Subject{account}) {
		t.Errorf("the role is bound by %+v", binding)
	}
	role, _ := all["Role jobgroup-controller"].(*rbacv1.Role)
	if role == nil {
		t.Fatal("there is no Role")
	}
	lease := register(&flag.FlagSet{}).LeaderElectionID
	var verbs []string // of the own lease
	for _, rule := range role.Rules {
		// RBAC cannot restrict the creation of an object by its name.
		named := slices.Equal(rule.ResourceNames, []string{lease})
		if !named && !slices.Equal(rule.Verbs, []string{"create"}) {
			t.Errorf("%v of %v is for %v, want it only for %s", rule.Verbs, rule.Resources, rule.ResourceNames, lease)
		}
		if named {
			verbs = append(verbs, rule.Verbs...)
		}
	}
	if want := []string{"get", "update"}; !slices.Equal(verbs, want) {
		t.Errorf("of the lease %s: got %v, want %v", lease, verbs, want)
	}
}
