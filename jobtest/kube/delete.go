package kube

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
)

func (s *Server) serveDelete(r *Request) (answer, error) {
	options, err := r.DeleteOptions()
	if err != nil {
		return answer{}, err
	}
	old := r.kind.objects[key(r.Namespace, r.Name)]
	if old == nil {
		return answer{}, r.kind.notFound(r.Name)
	}
	v, gone, err := s.remove(r.kind, old, options, r)
	if err != nil {
		return answer{}, err
	}
	if gone && !r.kind.returnsDeleted {
		return success(r.kind, r.Name, old.obj.GetUID()), nil
	}
	code := http.StatusOK
	if orphan := oldPolicy(options); !gone && orphan != nil && !*orphan {
		code = http.StatusAccepted
	}
	return s.show(code, r, v, nil)
}

// DeleteOptions returns the options of a deletion: those in the body or, if it is empty, in the
// query.
func (r *Request) DeleteOptions() (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	if len(r.Body) > 0 {
		if err := decodeOptions(r, options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	} else if err := metav1.Convert_url_Values_To_v1_DeleteOptions(&r.Query, options, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if slices.Contains(options.DryRun, metav1.DryRunAll) {
		r.Query.Set("dryRun", metav1.DryRunAll)
	}
	if errs := validation.ValidateDeleteOptions(options); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return options, nil
}

// decodeOptions reads options in JSON or protobuf. They may have the API version of any
// group.
func decodeOptions(r *Request, options *metav1.DeleteOptions) error {
	if r.ContentType != runtime.ContentTypeProtobuf {
		return kjson.UnmarshalCaseSensitivePreserveInts(r.Body, options)
	}
	_, _, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(r.Body, nil, options)
	return err
}

func (s *Server) serveDeleteCollection(r *Request) (answer, error) {
	options, err := r.DeleteOptions()
	if err != nil {
		return answer{}, err
	}
	sel, err := r.selection()
	if err != nil {
		return answer{}, err
	}
	var found []*version
	for _, id := range r.kind.keys {
		if v := r.kind.objects[id]; sel.has(v) {
			found = append(found, v)
		}
	}
	list := metav1.ListMeta{ResourceVersion: strconv.FormatInt(s.revision, 10)}
	for _, v := range found {
		if _, _, err := s.remove(r.kind, v, options.DeepCopy(), r); err != nil {
			return answer{}, err
		}
	}
	text, err := r.renderList(list, found)
	return answer{code: http.StatusOK, body: text}, err
}

// remove deletes an object, or marks it as being deleted if finalizers or a grace period
// remain. It returns the last version and whether the object is gone.
func (s *Server) remove(k *kind, old *version, options *metav1.DeleteOptions, r *Request) (*version, bool, error) {
	if err := k.preconditions(old.obj, options); err != nil {
		return nil, false, err
	}
	if ns, ok := old.obj.(*corev1.Namespace); ok && len(ns.Spec.Finalizers) > 0 {
		v, err := k.store(old, s.terminating(ns), r)
		return v, false, err
	}
	next := old.obj.DeepCopyObject().(Object)
	seconds := options.GracePeriodSeconds
	if seconds != nil && *seconds < 0 {
		seconds = new(int64(1))
	}
	graceful, pending := s.grace(k, next, seconds)
	if pending {
		return old, false, nil
	}
	next.SetFinalizers(k.finalizers(next, options))
	waits := len(next.GetFinalizers()) > 0
	if !graceful && !waits {
		return k.dropUnlessDry(old, r), true, nil
	}
	if !graceful {
		s.markDeleted(next)
	}
	marked, err := k.store(old, next, r)
	if err != nil || waits || *next.GetDeletionGracePeriodSeconds() > 0 {
		return marked, false, err
	}
	return k.dropUnlessDry(marked, r), true, nil
}

func (k *kind) dropUnlessDry(old *version, r *Request) *version {
	if dryRun(r) {
		return old
	}
	return k.drop(old, r)
}

func (k *kind) preconditions(obj Object, options *metav1.DeleteOptions) error {
	if options.Preconditions == nil {
		return nil
	}
	// The API server has the kind in this message, not the resource.
	gr := schema.GroupResource{Group: k.GroupVersionKind.Group, Resource: k.GroupVersionKind.Kind}
	if uid := options.Preconditions.UID; uid != nil && *uid != obj.GetUID() {
		return apierrors.NewConflict(gr, obj.GetName(),
			fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object "+
				"might have been deleted and then recreated", *uid, obj.GetUID()))
	}
	if rv := options.Preconditions.ResourceVersion; rv != nil && *rv != obj.GetResourceVersion() {
		return apierrors.NewConflict(gr, obj.GetName(),
			fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in "+
				"record (%s). The object might have been modified", *rv, obj.GetResourceVersion()))
	}
	return nil
}

// grace sets the grace period of an object if its kind has one. Pending says that a
// deletion with at most this grace period is already in progress.
func (s *Server) grace(k *kind, next Object, asked *int64) (graceful, pending bool) {
	if k.rules.grace == nil {
		return false, false
	}
	if next.GetDeletionTimestamp() == nil {
		seconds := k.rules.grace(next, asked)
		at := metav1.NewTime(s.stamp().Add(time.Duration(seconds) * time.Second))
		next.SetDeletionTimestamp(&at)
		next.SetDeletionGracePeriodSeconds(&seconds)
		bump(next, next, next.GetGeneration() > 0)
		return true, false
	}
	left := next.GetDeletionGracePeriodSeconds()
	switch {
	case left == nil || *left == 0:
		return false, false
	case asked == nil || *asked >= *left:
		return false, true
	}
	seconds := *asked
	at := metav1.NewTime(next.GetDeletionTimestamp().Add(time.Duration(seconds-*left) * time.Second))
	if now := s.stamp(); at.Before(&now) {
		at = now
		seconds = min(seconds, 1)
	}
	next.SetDeletionTimestamp(&at)
	next.SetDeletionGracePeriodSeconds(&seconds)
	return true, false
}

// markDeleted marks an object whose deletion waits only for finalizers.
func (s *Server) markDeleted(next Object) {
	now := s.stamp()
	at := next.GetDeletionTimestamp()
	bump(next, next, at == nil && next.GetGeneration() > 0)
	if at == nil || at.After(now.Time) {
		next.SetDeletionTimestamp(&now)
	}
	next.SetDeletionGracePeriodSeconds(new(int64))
}

// finalizers returns the finalizers of an object after a deletion request. The request, the
// existing finalizers and the default of the kind decide, in this order, about the
// finalizers of the garbage collector.
func (k *kind) finalizers(obj Object, options *metav1.DeleteOptions) []string {
	own := func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	}
	had := obj.GetFinalizers()
	kept := slices.DeleteFunc(slices.Clone(had), own)
	wanted := ""
	if orphan := oldPolicy(options); orphan != nil {
		if *orphan {
			wanted = metav1.FinalizerOrphanDependents
		}
	} else if policy := options.PropagationPolicy; policy != nil {
		switch *policy {
		case metav1.DeletePropagationOrphan:
			wanted = metav1.FinalizerOrphanDependents
		case metav1.DeletePropagationForeground:
			wanted = metav1.FinalizerDeleteDependents
		}
	} else if i := slices.IndexFunc(had, own); i >= 0 {
		wanted = had[i]
	} else if k.orphans {
		wanted = metav1.FinalizerOrphanDependents
	}
	if wanted == "" {
		return kept
	}
	if slices.Contains(had, wanted) && len(had) == len(kept)+1 {
		return had
	}
	return append(kept, wanted)
}

// oldPolicy returns orphanDependents, which old clients send instead of a propagation
// policy.
func oldPolicy(options *metav1.DeleteOptions) *bool {
	//lint:ignore SA1019 the API server honours it, too
	return options.OrphanDependents
}

// terminating returns a namespace that waits for the deletion of its content.
func (s *Server) terminating(ns *corev1.Namespace) Object {
	next := ns.DeepCopy()
	if next.DeletionTimestamp == nil {
		next.DeletionTimestamp = new(s.stamp())
	}
	next.Status.Phase = corev1.NamespaceTerminating
	return next
}

// deleteByUID returns the options with which the actors delete exactly this object.
func deleteByUID(uid types.UID, policy metav1.DeletionPropagation) *metav1.DeleteOptions {
	return &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &policy}
}
