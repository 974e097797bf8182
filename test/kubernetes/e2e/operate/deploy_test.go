package operate

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

const (
	deploy    = "../../controller/jobfate-controller/deploy/"
	namespace = "jobfate" // of the manifests
)

// Both sets of manifests are accepted, and the API server accepts the pods of the Deployment in a
// namespace with the restricted Pod Security standard.
func TestManifests(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"all-namespaces", "one-namespace"} {
		objects, err := api.Apply(t.Context(), "", deploy+folder)
		world.Must(t, err)
		for _, object := range objects {
			if object.GetKind() != "Deployment" {
				continue
			}
			var d appsv1.Deployment
			world.Must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &d))
			only := slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--namespaces=default")
			if only != (folder == "one-namespace") {
				t.Errorf("%s: the arguments are %q", folder, d.Spec.Template.Spec.Containers[0].Args)
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "trial-"}, Spec: d.Spec.Template.Spec}
			dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
			if _, err := api.Client.CoreV1().Pods(d.Namespace).Create(t.Context(), pod, dry); err != nil {
				t.Errorf("%s: %v", folder, err)
			}
			pod.Spec.Containers[0].SecurityContext = nil
			if _, err := api.Client.CoreV1().Pods(d.Namespace).Create(t.Context(), pod, dry); !apierrors.IsForbidden(err) {
				t.Errorf("%s: the namespace is not restricted: got %v for a pod without a security context", folder, err)
			}
		}
	}
}

// The account of the manifests may do what they say, what every account may, and nothing else.
func TestRightsAreThose(t *testing.T) {
	t.Parallel()
	if _, err := api.Apply(t.Context(), "", deploy+"all-namespaces"); err != nil {
		t.Fatal(err)
	}
	config, err := api.Account(t.Context(), namespace, "jobfate-controller")
	world.Must(t, err)
	client := kubernetes.NewForConfigOrDie(config)
	granted, allowed := rules(t, "jobfate-controller"), rules(t, "nobody")
	for _, name := range []string{"jobfate-controller", "jobfate-metrics-server"} {
		role, err := api.Client.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
		world.Must(t, err)
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				allowed[verb+" "+strings.Join(rule.Resources, ",")] = true
			}
		}
	}
	if !maps.Equal(granted, allowed) {
		t.Errorf("the controller may %v, want %v", granted, allowed)
	}
	if _, err := client.CoreV1().Secrets(elsewhere).Get(t.Context(), "secret", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("to read a Secret: got %v, want a refusal", err)
	}
	if _, err := client.CoordinationV1().Leases(namespace).Get(t.Context(), "other", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("to take the lease of another: got %v, want a refusal", err)
	}
}

const elsewhere = "kube-public"

// rules returns what an account of the controller's namespace may do in another namespace.
func rules(t *testing.T, account string) map[string]bool {
	t.Helper()
	config, err := api.Account(t.Context(), namespace, account)
	world.Must(t, err)
	review, err := kubernetes.NewForConfigOrDie(config).AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(),
		&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: elsewhere}}, metav1.CreateOptions{})
	if err != nil || review.Status.Incomplete {
		t.Fatal(review, err)
	}
	found := map[string]bool{}
	for _, rule := range review.Status.ResourceRules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				found[verb+" "+resource] = true
			}
		}
	}
	return found
}

// The metrics are served to callers who may get /metrics, as the Deployment serves them.
func TestMetricsAreProtected(t *testing.T) {
	t.Parallel()
	address := server.Loopback() + ":8443"
	run(t, server.Options{Name: "secure", Args: []string{"--managed-by=jobfate.dev/secure",
		"--metrics-bind-address=" + address, "--metrics-secure"}})
	scrape := func(token string) (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		world.Must(t, err)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		answer, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	wants := func(want int, token string) {
		t.Helper()
		await(t, fmt.Sprint("the status ", want), func() string {
			if got, err := scrape(token); got != want {
				return fmt.Sprint(got, err)
			}
			return ""
		})
	}
	reader, err := api.Account(t.Context(), namespace, "prometheus")
	world.Must(t, err)
	wants(http.StatusUnauthorized, "")
	wants(http.StatusForbidden, reader.BearerToken)
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "jobfate-metrics-reader"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "prometheus"}}}
	if _, err := api.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	wants(http.StatusOK, reader.BearerToken)
}

// The controller needs every permission of its ClusterRole. All tests run it with these
// permissions only.
func TestPermissionsAreUsed(t *testing.T) {
	t.Parallel()
	p, side := start(t, "rights", server.Options{})
	// After a creation and a status write without an answer, the controller reads live.
	p.Add(proxy.Rule{Call: proxy.Call{Verb: "create", Resource: "pods"}, Nth: 2, Do: proxy.LoseReply})
	p.Add(proxy.Rule{Call: proxy.Call{Verb: "patch", Resource: "jobs/status"}, Nth: 2, Do: proxy.LoseReply})
	w := newWorld(t, side, kubelet.Run())
	w.Create(at(4))
	w.Until("active=4 ready=4")
	// A repeated event becomes a patch of the first one.
	for _, suspend := range []bool{true, false, true, false, true} {
		w.Update(func(job *batchv1.Job) { job.Spec.Suspend = &suspend })
		w.When("the Job is suspended or resumed", func(s script.State) bool { return (len(s.Active()) == 0) == suspend })
	}
	// The API server checks the first on behalf of the controller, with the admission plugin
	// OwnerReferencesPermissionEnforcement. The second is for servers that cannot fill a cache
	// by a watch.
	await(t, "every right is used", func() string {
		unused, err := p.Counts().Unused("../../../../controller/jobfate-controller/deploy/all-namespaces/rbac.yaml",
			"update jobs/finalizers", "list jobs")
		world.Must(t, err)
		return unused
	})
}

// account is the service account of the controller.
const account = "system:serviceaccount:jobfate:jobfate-controller"

// With the permissions of one-namespace/rights in two namespaces, and none in the cluster, the
// controller runs the Jobs of both and no others. A namespace that does not exist is reported,
// and delays no other.
func TestNamespaces(t *testing.T) {
	onlyNamespaces(t)
	managedBy := "jobfate.dev/namespaces"
	worlds := map[string]*world.World{}
	for _, name := range []string{"first", "second", "other"} {
		w := newWorld(t, world.Side{Controller: &server.Controller{Process: &server.Process{Name: name}}, ManagedBy: &managedBy}, kubelet.Succeed())
		w.Create(at(3))
		worlds[name] = w
	}
	namespaces := []string{worlds["first"].Namespace, worlds["second"].Namespace}
	late := worlds["first"].Namespace + "-late"
	probes := server.Loopback() + ":8081"
	c := run(t, server.Options{
		Name: "namespaces", Namespaces: namespaces,
		Args: []string{"--managed-by=" + managedBy, "--health-probe-bind-address=" + probes, "--namespaces=" + strings.Join(append(namespaces, late), ",")},
	})
	for _, w := range worlds {
		w.Side.Controller = c
	}
	for _, name := range []string{"first", "second"} {
		worlds[name].Until("succeeded=3 completed=0-2 " + world.Completed)
	}
	awaitLog(t, c, fmt.Sprintf("the namespace %s does not exist, or its Jobs or pods may not be listed", late))
	if code := probe(t, probes); code == http.StatusOK {
		t.Error("the controller is ready although a namespace is missing")
	}

	// The namespace is created, with its permissions and a Job.
	_, err := api.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: late}}, metav1.CreateOptions{})
	world.Must(t, err)
	if _, err := api.Apply(t.Context(), late, server.NamespaceRights); err != nil {
		t.Fatal(err)
	}
	await(t, "the controller is ready", func() string {
		if code := probe(t, probes); code != http.StatusOK {
			return http.StatusText(code)
		}
		return ""
	})
	job := world.NewJob("job", &managedBy, at(1))
	if _, err := api.Client.BatchV1().Jobs(late).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the Job of the late namespace gets a pod", func() string {
		job, err := api.Client.BatchV1().Jobs(late).Get(t.Context(), "job", metav1.GetOptions{})
		if err != nil || job.Status.Active != 1 {
			return fmt.Sprint("no pod; ", err)
		}
		return ""
	})
	others, err := api.Client.BatchV1().Jobs(worlds["other"].Namespace).Get(t.Context(), "job", metav1.GetOptions{})
	if err != nil || others.Status.StartTime != nil {
		t.Errorf("the Job of another namespace has the status %+v, %v, want none", others.Status, err)
	}
}

// onlyNamespaces removes the permissions in the whole cluster from the account of the
// controller, until the test ends.
func onlyNamespaces(t *testing.T) {
	t.Helper()
	err := api.Client.RbacV1().ClusterRoleBindings().Delete(t.Context(), "jobfate-controller", metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	await(t, "the account has no rights in the cluster", func() string {
		review, err := api.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: account, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"}},
		}, metav1.CreateOptions{})
		world.Must(t, err)
		if review.Status.Allowed {
			return "it may list pods"
		}
		return ""
	})
}

// probe reads the readiness of a controller, and returns the status code.
func probe(t *testing.T, address string) int {
	t.Helper()
	answer, err := http.Get("http://" + address + "/readyz")
	world.Must(t, err)
	defer answer.Body.Close()
	return answer.StatusCode
}
