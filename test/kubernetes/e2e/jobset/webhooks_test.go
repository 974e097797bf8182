package jobset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// installWebhooks registers the webhooks of a project's manifests, with the patches of its
// kustomization. at sets where the API server calls them.
func installWebhooks(ctx context.Context, client kubernetes.Interface, dir, patchMutating, patchValidating string,
	at func(*admissionv1.WebhookClientConfig)) error {
	var mutating admissionv1.MutatingWebhookConfiguration
	if err := read(dir, "MutatingWebhookConfiguration", patchMutating, &mutating); err != nil {
		return err
	}
	for i := range mutating.Webhooks {
		at(&mutating.Webhooks[i].ClientConfig)
	}
	var validating admissionv1.ValidatingWebhookConfiguration
	if err := read(dir, "ValidatingWebhookConfiguration", patchValidating, &validating); err != nil {
		return err
	}
	for i := range validating.Webhooks {
		at(&validating.Webhooks[i].ClientConfig)
	}
	admission := client.AdmissionregistrationV1()
	if _, err := admission.MutatingWebhookConfigurations().Create(ctx, &mutating, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := admission.ValidatingWebhookConfigurations().Create(ctx, &validating, metav1.CreateOptions{})
	return err
}

// read reads the object of a kind from manifests.yaml, and patches it.
func read(dir, kind, patchFile string, into any) error {
	manifests, err := os.ReadFile(filepath.Join(dir, "manifests.yaml"))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, patchFile))
	if err != nil {
		return err
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return err
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return err
	}
	for _, manifest := range bytes.Split(manifests, []byte("\n---\n")) {
		object, err := yaml.YAMLToJSON(manifest)
		if err != nil {
			return err
		}
		var meta metav1.TypeMeta
		if err := json.Unmarshal(object, &meta); err != nil {
			return err
		}
		if meta.Kind != kind {
			continue
		}
		if object, err = patch.Apply(object); err != nil {
			return err
		}
		return json.Unmarshal(object, into)
	}
	return fmt.Errorf("no %s in %s", kind, dir)
}
