package podtest

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// Merged returns a JSON value with a merge patch, RFC 7396.
func Merged(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if old, ok := target.(map[string]any); ok {
		maps.Copy(out, old)
	}
	for k, v := range fields {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = Merged(out[k], v)
		}
	}
	return out
}

// Copied returns an object as the API server would send it.
func Copied[T any](object *T) *T { return new(FromJSON[T](Must(json.Marshal(object)))) }

// Patched returns an object of the API with a merge patch. It goes through JSON, as requests to the API server do.
func Patched[T any](object *T, patch []byte) *T {
	var fields map[string]any
	out := Must(new(T), json.Unmarshal(patch, &fields))
	merged := Merged(Must(runtime.DefaultUnstructuredConverter.ToUnstructured(object)), fields).(map[string]any)
	return Must(out, runtime.DefaultUnstructuredConverter.FromUnstructured(merged, out))
}
