//go:build ignore

package controller

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/features"

	"github.com/jobfate/jobfate/decide"
)

// Some tests of 1.36 switch off gates that it has locked, by emulating an older release. The
// controller supports three of them. Tests of the others fail. 1.37 has removed the first two.

// gates returns the options that apply to a decision made now.
func gates() (options []decide.Option) {
	for gate, option := range map[featuregate.Feature]decide.Option{
		"JobBackoffLimitPerIndex": decide.WithoutPerIndexBackoff(),
		"JobPodReplacementPolicy": decide.WithoutReplacementPolicy(),
	} {
		_, known := feature.DefaultMutableFeatureGate.GetAll()[gate]
		if known && !feature.DefaultFeatureGate.Enabled(gate) {
			options = append(options, option)
		}
	}
	return options
}

// managedJobs hides spec.managedBy of Jobs while the gate JobManagedBy is off.
type managedJobs struct{ cache.SharedIndexInformer }

func (m managedJobs) GetIndexer() cache.Indexer {
	return managedIndexer{m.SharedIndexInformer.GetIndexer()}
}

func (m managedJobs) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return m.SharedIndexInformer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { h.OnAdd(ungated(obj), initial) },
		UpdateFunc: func(old, obj any) { h.OnUpdate(ungated(old), ungated(obj)) },
		DeleteFunc: func(obj any) { h.OnDelete(ungated(obj)) },
	})
}

type managedIndexer struct{ cache.Indexer }

func (m managedIndexer) GetByKey(key string) (any, bool, error) {
	obj, found, err := m.Indexer.GetByKey(key)
	return ungated(obj), found, err
}

func (m managedIndexer) ByIndex(index, key string) ([]any, error) {
	all, err := m.Indexer.ByIndex(index, key)
	for i := range all {
		all[i] = ungated(all[i])
	}
	return all, err
}

// managedClient hides spec.managedBy in live reads in the same way.
type managedClient struct{ kubernetes.Interface }

func (m managedClient) BatchV1() typedbatchv1.BatchV1Interface {
	return managedBatch{m.Interface.BatchV1()}
}

type managedBatch struct{ typedbatchv1.BatchV1Interface }

func (m managedBatch) Jobs(namespace string) typedbatchv1.JobInterface {
	return managedReads{m.BatchV1Interface.Jobs(namespace)}
}

type managedReads struct{ typedbatchv1.JobInterface }

func (m managedReads) Get(ctx context.Context, name string, options metav1.GetOptions) (*batchv1.Job, error) {
	job, err := m.JobInterface.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return ungated(job).(*batchv1.Job), nil
}

func ungated(obj any) any {
	job, ok := obj.(*batchv1.Job)
	if !ok || job.Spec.ManagedBy == nil || feature.DefaultFeatureGate.Enabled(features.JobManagedBy) {
		return obj
	}
	job = job.DeepCopy()
	job.Spec.ManagedBy = nil
	return job
}
