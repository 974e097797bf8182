package operate

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

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
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: at(1)}
	job.Spec.ManagedBy, job.Spec.Template.Spec = &managedBy, worlds["first"].State().Job.Spec.Template.Spec
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
