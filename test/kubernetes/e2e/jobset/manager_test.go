package jobset

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

const (
	// The service account of JobSet's manifests.
	namespace, account = "system", "controller-manager"
	// webhookPort is a port of an address that no other process uses.
	webhookPort = 9443
)

// startManager builds JobSet's manager, applies the permissions and webhooks of its manifests, and
// starts it. It returns when the webhooks answer.
func startManager(ctx context.Context, s *server.Server) (*server.Controller, error) {
	source, err := sourceOf(ctx, "sigs.k8s.io/jobset")
	if err != nil {
		return nil, err
	}
	program, err := server.BuildMain(ctx, source)
	if err != nil {
		return nil, err
	}
	components := filepath.Join(source, "config", "components")
	if _, err := s.Apply(ctx, "", filepath.Join(components, "crd", "bases", "jobset.x-k8s.io_jobsets.yaml")); err != nil {
		return nil, err
	}
	if _, err := s.Client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	rights := filepath.Join(components, "rbac")
	if _, err := s.Apply(ctx, namespace, filepath.Join(rights, "service_account.yaml"), filepath.Join(rights, "role.yaml"), filepath.Join(rights, "role_binding.yaml")); err != nil {
		return nil, err
	}
	host := server.Loopback()
	ca, config, err := configure(s.Dir(), host)
	if err != nil {
		return nil, err
	}
	controller, err := s.Program(ctx, program, namespace, account, server.Options{Name: "jobset", Args: []string{
		"--config=" + config, "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0",
	}})
	if err != nil {
		return nil, err
	}
	if err := installWebhooks(ctx, s, filepath.Join(components, "webhook"), host, ca); err != nil {
		return nil, err
	}
	return controller, awaitWebhooks(ctx, s, controller)
}

// sourceOf returns the folder of a module in the module cache.
func sourceOf(ctx context.Context, module string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("finding the source of %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// configure writes a certificate for the webhooks, and the configuration file of the manager.
func configure(dir, host string) (ca []byte, config string, err error) {
	ca, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return nil, "", err
	}
	dir = filepath.Join(dir, "jobset")
	config = filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf(`apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
internalCertManagement: {enable: false}
webhook: {host: %q, port: %d, certDir: %q}
featureGates: {InPlaceRestart: true, RestartJob: true, ElasticJobSet: true}
`, host, webhookPort, dir)
	return ca, config, errors.Join(
		os.Mkdir(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "tls.crt"), ca, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600),
		os.WriteFile(config, []byte(text), 0o600),
	)
}

// awaitWebhooks creates a JobSet and a pod as a dry run, and retries until both pass the webhooks.
// The manager does not report when it serves all of them.
func awaitWebhooks(ctx context.Context, s *server.Server, controller *server.Controller) error {
	client := s.Dynamic().Resource(jobSetResource).Namespace(metav1.NamespaceDefault)
	pod := &corev1.Pod{Spec: world.PodSpec()}
	pod.Name, pod.Labels = "probe", map[string]string{jobset.JobSetNameKey: "probe"}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	err := server.Await(ctx, func(ctx context.Context) error {
		if _, err := client.Create(ctx, newJobSet(nil), dry); err != nil {
			return err
		}
		_, err := s.Client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, dry)
		return err
	}, controller.Process)
	if err != nil {
		return fmt.Errorf("JobSet's webhooks are not ready: %w", err)
	}
	return nil
}

// installWebhooks registers the webhooks of JobSet's kustomization. The API server calls them at an address, not through
// their Service.
func installWebhooks(ctx context.Context, s *server.Server, dir, host string, ca []byte) error {
	objects, err := s.Apply(ctx, namespace, dir)
	if err != nil {
		return err
	}
	for _, object := range objects {
		webhooks, found, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil || !found {
			continue // the Service
		}
		for _, webhook := range webhooks {
			path, _, _ := unstructured.NestedString(webhook.(map[string]any), "clientConfig", "service", "path")
			webhook.(map[string]any)["clientConfig"] = map[string]any{
				"url": fmt.Sprintf("https://%s:%d%s", host, webhookPort, path), "caBundle": base64.StdEncoding.EncodeToString(ca),
			}
		}
		object.Object["webhooks"] = webhooks
		kind := admissionv1.SchemeGroupVersion.WithResource(strings.ToLower(object.GetKind()) + "s")
		if _, err := s.Dynamic().Resource(kind).Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
