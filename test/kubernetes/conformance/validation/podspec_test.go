package validation_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// TestDefaultedPodSpec compares templates in which any field of the API may be set. A default that
// is missing in package validation, or that a new release adds, is a difference.
func TestDefaultedPodSpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := filler{T: t, rarely: rapid.SampledFrom([]int{1, 3, 10, 40}).Draw(t, "rarely")}
		drawn := &corev1.PodSpec{}
		f.fill(reflect.ValueOf(drawn).Elem(), "spec", 0)
		compareDefaults(t, drawn)
	})
}

// In this template every pointer, list and map is set, and nothing else, so every default that
// depends on nothing else applies. It has a volume of each kind, and one of none.
func TestDefaultedPodSpec_everyField(t *testing.T) {
	spec := &corev1.PodSpec{}
	outline(reflect.ValueOf(spec).Elem(), 0)
	spec.SecurityContext, spec.TerminationGracePeriodSeconds = nil, nil
	spec.Volumes = append(spec.Volumes, corev1.Volume{})
	kinds := reflect.TypeFor[corev1.VolumeSource]()
	for i := range kinds.NumField() {
		var volume corev1.Volume
		outline(reflect.ValueOf(&volume.VolumeSource).Elem().Field(i), 0)
		spec.Volumes = append(spec.Volumes, volume)
	}
	compareDefaults(t, spec)
}

func compareDefaults(t rapid.TB, spec *corev1.PodSpec) {
	t.Helper()
	job := &batchv1.Job{}
	job.Spec.Template.Spec = *spec
	before := job.DeepCopy()
	ours := &batchv1.Job{}
	ours.Spec.Template.Spec = *defaulting.PodSpec(spec)
	theirs := apiserver.External(apiserver.Internal(realDefault(job)))
	if diff := cmp.Diff(apiserver.Decoded(theirs).Spec.Template, apiserver.Decoded(ours).Spec.Template); diff != "" {
		t.Fatalf("DefaultedPodSpec (-API server +jobfate):\n%s", diff)
	}
	unchanged(t, "DefaultedPodSpec", before, job)
}

// TestImagePullPolicy compares the default for images that are and are not valid.
func TestImagePullPolicy(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for _, image := range []string{
		"", "a", "a:1", "a:latest", "a:Latest", "a" + digest, "a:1" + digest, "a:latest" + digest, "a@sha256:0a", "a@md5:" + strings.Repeat("0a", 16),
		"A", "A/b", "a/B", "a.b/c", "a.b:5/c", "a.b:5", "a_b.c/d", "a__b", "a___b", "a--b", "-a", "a-", "[::1]:5/a", "[::1]/a:1", "localhost/a", "localhost:5/a:latest",
		"a b", " a", "a:", "a@", ":latest", "a:-x", "a:" + strings.Repeat("x", 128), "a:" + strings.Repeat("x", 129), strings.Repeat("0a", 32), "a/" + strings.Repeat("0a", 32), "${IMAGE}", "a:b:c", "http://a/b",
	} {
		compareDefaults(t, &corev1.PodSpec{Containers: []corev1.Container{{Image: image}}})
	}
	rapid.Check(t, func(t *rapid.T) {
		image := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "B", "0", ".", "_", "-", ":", "/", "latest", digest, "localhost", "[::1]"}), 0, 9).Draw(t, "image"), "")
		compareDefaults(t, &corev1.PodSpec{Containers: []corev1.Container{{Image: image}}})
	})
}

// deepest is the depth below which nothing is filled. No default is as deep.
const deepest = 12

// filler sets fields of API types. It leaves a number of fields unset for each one that it sets.
type filler struct {
	*rapid.T
	rarely int
}

func (f filler) fill(out reflect.Value, name string, depth int) {
	some := func() bool { return depth < deepest && rapid.IntRange(0, f.rarely).Draw(f.T, name) == 0 }
	switch to := out.Addr().Interface().(type) {
	case *resource.Quantity:
		*to = rapid.SampledFrom([]resource.Quantity{{}, resource.MustParse("1"), resource.MustParse("100u"), resource.MustParse("1500m"), resource.MustParse("2Gi")}).Draw(f.T, name)
		return
	case *intstr.IntOrString:
		*to = intstr.FromInt32(1)
		return
	case *metav1.Time, *metav1.FieldsV1:
		return
	}
	switch out.Kind() {
	case reflect.Pointer:
		if some() {
			out.Set(reflect.New(out.Type().Elem()))
			f.fill(out.Elem(), name, depth+1)
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 2).Draw(f.T, name); n > 0 && some() {
			out.Set(reflect.MakeSlice(out.Type(), n, n))
			for i := range n {
				f.fill(out.Index(i), name, depth+1)
			}
		}
	case reflect.Map:
		if some() {
			key, value := reflect.New(out.Type().Key()).Elem(), reflect.New(out.Type().Elem()).Elem()
			key.SetString("key")
			f.fill(value, name, depth+1)
			out.Set(reflect.MakeMap(out.Type()))
			out.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range out.NumField() {
			f.fill(out.Field(i), out.Type().Field(i).Name, depth+1)
		}
	case reflect.String:
		out.SetString(rapid.SampledFrom([]string{"", "", "x", "x:latest", "x:1"}).Draw(f.T, name))
	case reflect.Bool:
		out.SetBool(rapid.Bool().Draw(f.T, name))
	case reflect.Int32, reflect.Int64, reflect.Uint8:
		if some() {
			out.Set(reflect.ValueOf(7).Convert(out.Type()))
		}
	default:
		panic(fmt.Sprintf("a field %s of the kind %s", name, out.Kind()))
	}
}

// outline sets all pointers and lists to one zero value.
func outline(out reflect.Value, depth int) {
	switch out.Addr().Interface().(type) {
	case *metav1.Time, *metav1.FieldsV1, *resource.Quantity:
		return
	}
	if depth > deepest {
		return
	}
	switch out.Kind() {
	case reflect.Pointer:
		switch out.Type().Elem().Kind() {
		case reflect.Struct: // any other pointer has a default only while it is nil
			out.Set(reflect.New(out.Type().Elem()))
			outline(out.Elem(), depth+1)
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(out.Type(), 1, 1))
		outline(out.Index(0), depth+1)
	case reflect.Map:
		if out.Type() == reflect.TypeFor[corev1.ResourceList]() {
			out.Set(reflect.ValueOf(corev1.ResourceList{"key": resource.MustParse("100u")}))
		}
	case reflect.Struct:
		for i := range out.NumField() {
			if out.Type().Field(i).IsExported() {
				outline(out.Field(i), depth+1)
			}
		}
	}
}
