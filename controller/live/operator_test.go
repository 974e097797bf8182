package live_test

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

func init() {
	ctrl.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // the default ones wait for decades in a bubble: see the package kube
}

// This is a typical operator. It creates a Job for an object of its kind, and records in
// the status of the object how the Job ended.

type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Status            BackupStatus `json:"status,omitempty"`
}

type BackupStatus struct {
	Phase string `json:"phase,omitempty"`
	Tries int32  `json:"tries,omitempty"`
}

type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backup `json:"items"`
}

func (b *Backup) DeepCopyObject() runtime.Object     { return Copied(b) }
func (l *BackupList) DeepCopyObject() runtime.Object { return Copied(l) }

var backupKind = kube.Kind{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Backup"}, Status: true}

type operator struct{ client.Client }

func (o operator) Reconcile(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	backup, job := &Backup{}, &batchv1.Job{}
	if err := o.Get(ctx, r.NamespacedName, backup); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	job.Namespace, job.Name = backup.Namespace, backup.Name
	if _, err := controllerutil.CreateOrUpdate(ctx, o, job, func() error {
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		if job.CreationTimestamp.IsZero() {
			job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		}
		return controllerutil.SetControllerReference(backup, job, o.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	backup.Status.Tries = job.Status.Succeeded + job.Status.Failed
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			backup.Status.Phase = string(c.Type)
		}
	}
	return ctrl.Result{}, o.Status().Update(ctx, backup)
}

// startOperator runs the operator until the test ends, and returns a client of its user.
func startOperator(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	gv := backupKind.GroupVersionKind.GroupVersion()
	scheme.AddKnownTypes(gv, &Backup{}, &BackupList{})
	metav1.AddToGroupVersion(scheme, gv)
	NoError(t, clientgoscheme.AddToScheme(scheme))
	mgr := Must(ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
	}))
	NoError(t, ctrl.NewControllerManagedBy(mgr).For(&Backup{}).Owns(&batchv1.Job{}).Complete(operator{mgr.GetClient()}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		NoError(t, <-ended)
	})
	return Must(client.New(cfg, client.Options{Scheme: scheme}))
}
