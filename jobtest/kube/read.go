package kube

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	optionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	optionvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// show returns the answer with one object, if there is no error.
func (s *Server) show(code int, r *Request, v *version, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	text, err := r.render(nil, v, false)
	return answer{code: code, body: text}, err
}

// render appends a version in the format that the request accepts.
func (r *Request) render(to []byte, v *version, inList bool) ([]byte, error) {
	if !r.wantsMetadata() {
		return r.kind.appendJSON(slices.Grow(to, len(v.body)+96), v, inList), nil
	}
	text, err := metadataOnly(v)
	return append(to, text...), err
}

// wantsMetadata reports whether the client asks for PartialObjectMetadata.
func (r *Request) wantsMetadata() bool { return strings.Contains(r.accept, "as=PartialObjectMetadata") }

func (s *Server) serveGet(r *Request) (answer, error) {
	v := r.kind.objects[key(r.Namespace, r.Name)]
	if v == nil {
		return answer{}, r.kind.notFound(r.Name)
	}
	return s.show(http.StatusOK, r, v, nil)
}

// selection has the options of a list, a watch or the deletion of a collection.
type selection struct {
	internalversion.ListOptions
	namespace string
	k         *kind
}

func (r *Request) selection() (selection, error) {
	sel := selection{namespace: r.Namespace, k: r.kind, ListOptions: internalversion.ListOptions{
		LabelSelector: labels.Everything(), FieldSelector: fields.Everything()}}
	err := optionscheme.ParameterCodec.DecodeParameters(r.Query, metav1.SchemeGroupVersion, &sel.ListOptions)
	if err != nil {
		return sel, apierrors.NewBadRequest(err.Error())
	}
	sel.Watch = r.Verb == "watch"
	if errs := optionvalidation.ValidateListOptions(&sel.ListOptions, true); len(errs) > 0 {
		return sel, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	for _, requirement := range sel.FieldSelector.Requirements() {
		if !r.kind.fieldsOf(r.kind.empty()).Has(requirement.Field) {
			return sel, r.kind.unknownField(requirement.Field)
		}
	}
	return sel, nil
}

func (k *kind) unknownField(name string) error {
	if k.rules.fields == nil && !k.custom {
		return apierrors.NewBadRequest(fmt.Sprintf(
			`%q is not a known field selector: only "metadata.name", "metadata.namespace"`, name))
	}
	return apierrors.NewBadRequest("field label not supported: " + name)
}

// empty returns an empty object in the stored form.
func (k *kind) empty() Object {
	if k.stored != nil {
		return k.stored(k.fresh())
	}
	return k.fresh()
}

func (k *kind) fieldsOf(o Object) fields.Set {
	set := fields.Set{}
	if k.rules.fields != nil {
		set = k.rules.fields(o)
	}
	set["metadata.name"] = o.GetName()
	if !k.ClusterScoped {
		set["metadata.namespace"] = o.GetNamespace()
	}
	return set
}

func (sel *selection) has(v *version) bool {
	return v != nil &&
		(sel.namespace == "" || sel.namespace == v.obj.GetNamespace()) &&
		sel.LabelSelector.Matches(labels.Set(v.obj.GetLabels())) &&
		(sel.FieldSelector.Empty() || sel.FieldSelector.Matches(sel.k.fieldsOf(v.obj)))
}

// page is a page of a list.
type page struct {
	// Revision is the revision of the whole list, Start the first key of the page.
	Revision int64  `json:"rv"`
	Start    string `json:"start"`

	past bool // the list is of an earlier revision
}

func (s *Server) page(sel *selection) (page, error) {
	p := page{Revision: s.revision}
	if sel.Continue != "" {
		return p, p.resume(sel.Continue, sel.k.compacted)
	}
	wanted, err := parseRevision(sel.ResourceVersion)
	switch {
	case err != nil:
		return p, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	case wanted > s.revision:
		return p, tooLargeVersion(wanted, s.revision)
	case wanted > 0 && (sel.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
		sel.ResourceVersionMatch == "" && sel.Limit > 0):
		p.Revision, p.past = wanted, true
		if wanted < sel.k.compacted {
			return p, gone("The resourceVersion for the provided list is too old.")
		}
	}
	return p, nil
}

func parseRevision(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	revision, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, field.Invalid(field.NewPath("resourceVersion"), text, err.Error())
	}
	return int64(revision), nil
}

func (p *page) resume(token string, compacted int64) error {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: continue key is not valid: %v", err))
	}
	p.past = true
	if p.Revision < compacted {
		return gone("The provided continue parameter is too old to display a consistent list result. You can " +
			"start a new list without the continue parameter.")
	}
	return nil
}

func (s *Server) serveList(r *Request) (answer, error) {
	k := r.kind
	sel, err := r.selection()
	if err != nil {
		return answer{}, err
	}
	p, err := s.page(&sel)
	if err != nil {
		return answer{}, err
	}
	objects, keys := k.objects, k.keys
	if p.past && p.Revision < s.revision {
		objects = k.at(p.Revision)
		keys = slices.Sorted(maps.Keys(objects))
	}
	from, _ := slices.BinarySearch(keys, p.Start)
	var found []*version
	next := len(keys) // where the next page begins
	for i, id := range keys[from:] {
		if !sel.has(objects[id]) {
			continue
		}
		if sel.Limit > 0 && int64(len(found)) == sel.Limit {
			next = from + i
			break
		}
		found = append(found, objects[id])
	}
	list := metav1.ListMeta{ResourceVersion: strconv.FormatInt(p.Revision, 10)}
	if next < len(keys) {
		text, _ := json.Marshal(page{Revision: p.Revision, Start: keys[next]}) // a number and a string
		list.Continue = base64.RawURLEncoding.EncodeToString(text)
		if sel.LabelSelector.Empty() && sel.FieldSelector.Empty() {
			left := int64(0)
			for _, id := range keys[next:] {
				if sel.has(objects[id]) {
					left++
				}
			}
			list.RemainingItemCount = &left
		}
	}
	text, err := r.renderList(list, found)
	return answer{code: http.StatusOK, body: text}, err
}

func (r *Request) renderList(list metav1.ListMeta, found []*version) ([]byte, error) {
	kind, gv := r.kind.GroupVersionKind.Kind+"List", r.kind.GroupVersionKind.GroupVersion().String()
	if r.wantsMetadata() {
		kind, gv = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	metadata, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	size := 128
	for _, v := range found {
		size += len(v.body) + 96
	}
	text := fmt.Appendf(make([]byte, 0, size), `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, kind, gv, metadata)
	for i, v := range found {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = r.render(text, v, true); err != nil {
			return nil, err
		}
	}
	return append(text, "]}"...), nil
}
