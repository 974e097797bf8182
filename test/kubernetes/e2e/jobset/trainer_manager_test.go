package jobset

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

// trainManager is Kubeflow Trainer's manager, which both sides share.
var trainManager *server.Controller

const (
	// The names of Trainer's manifests.
	trainNamespace, trainAccount = "kubeflow-system", "kubeflow-trainer-controller-manager"
	trainSecret                  = "kubeflow-trainer-webhook-cert"

	// trainCerts is the folder in which the manager expects the Secret with its certificates
	// to be mounted. The manager has no flag for it.
	trainCerts = "/tmp/k8s-webhook-server/serving-certs"
)

// startTrainer builds Trainer's manager, applies the permissions and webhooks of its manifests, and
// starts it. It returns when the webhooks answer.
func startTrainer(ctx context.Context, s *server.Server) (*server.Controller, error) {
	source, err := sourceOf(ctx, "github.com/kubeflow/trainer/v2")
	if err != nil {
		return nil, err
	}
	program, err := server.BuildMain(ctx, filepath.Join(source, "cmd", "trainer-controller-manager"))
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	base := filepath.Join(source, "manifests", "base")
	if err := installTrainer(ctx, s, base, port); err != nil {
		return nil, err
	}
	config := filepath.Join(s.Dir(), "trainer.yaml")
	err = errors.Join(os.RemoveAll(trainCerts), os.WriteFile(config, fmt.Appendf(nil, `apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
webhook: {port: %d}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
leaderElection: {leaderElect: false}
`, port), 0o600))
	if err != nil {
		return nil, err
	}
	await := func(c *server.Controller, try func(context.Context, *server.Server) error) error {
		return server.Await(ctx, func(ctx context.Context) error { return try(ctx, s) }, c.Process)
	}
	// The manager ends if the API server does not serve its kinds yet.
	if err := await(manager, listTrainer); err != nil {
		return nil, err
	}
	controller, err := s.Program(ctx, program, trainNamespace, trainAccount, server.Options{Name: "trainer", Args: []string{"--config=" + config}})
	if err != nil {
		return nil, err
	}
	if err := await(controller, mountCerts); err != nil {
		return nil, fmt.Errorf("the certificates of Trainer: %w", err)
	}
	if err := await(controller, tryTrainer); err != nil {
		return nil, fmt.Errorf("the webhooks of Trainer: %w", err)
	}
	return controller, nil
}

// freePort returns a port that no process listens on.
func freePort() (int32, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return int32(l.Addr().(*net.TCPAddr).Port), nil
}

// installTrainer applies the output of kustomize for the manifests, without the Deployment. The
// webhooks are called through a Service, and the certificates are for its name. Here the Service is
// an external name for this machine.
func installTrainer(ctx context.Context, s *server.Server, base string, port int32) error {
	core := s.Client.CoreV1()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: trainNamespace, Name: name} }
	_, failed := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: trainNamespace}}, metav1.CreateOptions{})
	if failed != nil {
		return failed
	}
	crd := func(name string) string { return filepath.Join(base, "crds", "trainer.kubeflow.org_"+name+".yaml") }
	_, errFiles := s.Apply(ctx, trainNamespace, crd("clustertrainingruntimes"), crd("trainingruntimes"), crd("trainjobs"),
		filepath.Join(base, "rbac", "role.yaml"), filepath.Join(base, "rbac", "service_account.yaml"))
	_, errBinding := s.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: trainAccount},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: trainAccount},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: trainNamespace, Name: trainAccount}},
	}, metav1.CreateOptions{})
	_, errSecret := core.Secrets(trainNamespace).Create(ctx, &corev1.Secret{ObjectMeta: meta(trainSecret)}, metav1.CreateOptions{})
	_, errService := core.Services(trainNamespace).Create(ctx, &corev1.Service{ObjectMeta: meta(trainAccount), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", Ports: []corev1.ServicePort{{Port: port}},
	}}, metav1.CreateOptions{})
	return errors.Join(errFiles, errBinding, errSecret, errService, installWebhooks(ctx, s.Client, filepath.Join(base, "webhook"),
		"patch_mutating.yaml", "patch_validating.yaml", func(c *admissionv1.WebhookClientConfig) {
			c.Service.Namespace, c.Service.Port = trainNamespace, &port
		}))
}

// mountCerts copies the certificates from the manager's Secret into the folder where the manager
// expects them, as a kubelet does.
func mountCerts(ctx context.Context, s *server.Server) error {
	secret, err := s.Client.CoreV1().Secrets(trainNamespace).Get(ctx, trainSecret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(secret.Data) == 0 {
		return errors.New("the Secret is empty")
	}
	if err := os.MkdirAll(trainCerts, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"ca.crt", "ca.key", "tls.key", "tls.crt"} { // the manager waits for the last one
		if err := os.WriteFile(filepath.Join(trainCerts, name), secret.Data[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// listTrainer lists the objects of Trainer's kinds.
func listTrainer(ctx context.Context, s *server.Server) error {
	client := s.Dynamic()
	for _, resource := range []schema.GroupVersionResource{trainJobResource, runtimeResource, clusterRuntimeResource} {
		if _, err := client.Resource(resource).List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// tryTrainer creates a runtime as a dry run.
func tryTrainer(ctx context.Context, s *server.Server) error {
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	_, err := s.Dynamic().Resource(runtimeResource).Namespace(metav1.NamespaceDefault).Create(ctx, untyped(framework("torch")), dry)
	return err
}
