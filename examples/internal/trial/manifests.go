package trial

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

	"github.com/jobfate/jobfate/internal/podtest"
)

// Manifests reads all files of deploy by kind and name. A field that the kind does not have is an error.
func (p Program) Manifests(t *testing.T) map[string]metav1.Object {
	t.Helper()
	scheme := podtest.Must(p.NewScheme())
	podtest.NoError(t, apiextensionsv1.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	all := map[string]metav1.Object{}
	files := podtest.Must(filepath.Glob("deploy/*.yaml"))
	samples := podtest.Must(filepath.Glob("deploy/samples/*.yaml"))
	for _, file := range append(files, samples...) {
		for manifest := range strings.SplitSeq(string(podtest.Must(os.ReadFile(file))), "\n---\n") {
			object, kind, err := decoder.Decode([]byte(manifest), nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all[kind.Kind+" "+object.(metav1.Object).GetName()] = object.(metav1.Object)
		}
	}
	return all
}

// CheckDeployment checks that the arguments, account, ports and probes of the Deployment fit the program and the
// permissions.
func (p Program) CheckDeployment(t *testing.T) {
	all, name := p.Manifests(t), p.Name+"-controller"
	deployment, ok := all["Deployment "+name].(*appsv1.Deployment)
	if !ok {
		t.Fatal("there is no Deployment")
	}
	template := deployment.Spec.Template
	selector := podtest.Must(metav1.LabelSelectorAsSelector(deployment.Spec.Selector))
	if !selector.Matches(labels.Set(template.Labels)) {
		t.Errorf("the selector %v does not select pods labelled %v", selector, template.Labels)
	}
	account := all["ServiceAccount "+template.Spec.ServiceAccountName]
	if account == nil || account.GetNamespace() != deployment.Namespace {
		t.Errorf("no service account %s in %s", template.Spec.ServiceAccountName, deployment.Namespace)
	}

	container := template.Spec.Containers[0]
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	o := p.Register(flags)
	if err := flags.Parse(container.Args); err != nil || flags.NArg() > 0 {
		t.Errorf("the program rejects the arguments %q: %v", container.Args, err)
	}
	ports := map[string]string{}
	for _, port := range container.Ports {
		ports[port.Name] = fmt.Sprintf(":%d", port.ContainerPort)
	}
	podtest.Same(t, "the port of metrics", ports["metrics"], o.Metrics.BindAddress)
	probes := map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe}
	for path, probe := range probes {
		if probe.HTTPGet.Path != path || ports[probe.HTTPGet.Port.StrVal] != o.HealthProbeBindAddress {
			t.Errorf("the probe of %s: got %+v, want it at %s", path, probe.HTTPGet, o.HealthProbeBindAddress)
		}
	}
}

// CheckPermissions checks that the account is bound to both roles, and may use only its own lease.
func (p Program) CheckPermissions(t *testing.T) {
	all, name := p.Manifests(t), p.Name+"-controller"
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: p.Name}}
	to := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	cluster, _ := all["ClusterRoleBinding "+name].(*rbacv1.ClusterRoleBinding)
	if cluster == nil || cluster.RoleRef != to("ClusterRole") || !slices.Equal(cluster.Subjects, account) {
		t.Errorf("the cluster role is bound by %+v", cluster)
	}
	binding, _ := all["RoleBinding "+name].(*rbacv1.RoleBinding)
	if binding == nil || binding.RoleRef != to("Role") || !slices.Equal(binding.Subjects, account) {
		t.Errorf("the role is bound by %+v", binding)
	}
	role, _ := all["Role "+name].(*rbacv1.Role)
	if role == nil {
		t.Fatal("there is no Role")
	}
	lease := p.Register(&flag.FlagSet{}).LeaderElectionID
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
	podtest.Same(t, "what may be done with the lease "+lease, verbs, []string{"get", "update"})
}
