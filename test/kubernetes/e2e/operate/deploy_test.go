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
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
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
	for name, call := range map[string]func() error{
		"read a Secret": func() error {
			_, err := client.CoreV1().Secrets(elsewhere).Get(t.Context(), "secret", metav1.GetOptions{})
			return err
		},
		"delete a Job": func() error {
			return client.BatchV1().Jobs(elsewhere).Delete(t.Context(), "job", metav1.DeleteOptions{})
		},
		"take the lease of another": func() error {
			_, err := client.CoordinationV1().Leases(namespace).Get(t.Context(), "other", metav1.GetOptions{})
			return err
		},
	} {
		if err := call(); !apierrors.IsForbidden(err) {
			t.Errorf("to %s: got %v, want a refusal", name, err)
		}
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
