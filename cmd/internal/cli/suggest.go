package cli

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// suggestion returns the path of the field of a type that is most similar to an unknown
// field; empty if no field is similar.
func suggestion(of reflect.Type, path string) string {
	parent, name := "", path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		parent, name = path[:dot+1], path[dot+1:]
	}
	best := nearest(name, slices.Sorted(maps.Keys(fieldsOf(typeAt(of, parent)))))
	if best == "" {
		return ""
	}
	return parent + best
}

// nearest returns the name that is most similar to another one; empty if none is similar.
func nearest(name string, all []string) (best string) {
	least := min(len(name), 2+len(name)/4)
	for _, other := range all {
		if d := distance(strings.ToLower(other), strings.ToLower(name)); d < least {
			best, least = other, d
		}
	}
	return best
}

// didYouMean completes an error about an unknown name.
func didYouMean(name string, all []string) string {
	return strings.TrimSuffix("; did you mean "+nearest(name, all)+"?", "; did you mean ?")
}

var position = regexp.MustCompile(`\[\d+\]`)

// typeAt returns the type of the field at a path, nil if there is none.
func typeAt(t reflect.Type, path string) reflect.Type {
	for name := range strings.SplitSeq(strings.Trim(position.ReplaceAllString(path, ""), "."), ".") {
		if name != "" {
			t = fieldsOf(t)[name]
		}
		for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
			t = t.Elem()
		}
	}
	return t
}

// fieldsOf returns the fields of an API type by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	if t == nil || t.Kind() != reflect.Struct {
		return fields
	}
	for i := range t.NumField() {
		f := t.Field(i)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name != "" && name != "-":
			fields[name] = f.Type
		case f.Anonymous:
			maps.Copy(fields, fieldsOf(f.Type))
		}
	}
	return fields
}

// distance is the number of bytes to add, remove or replace to turn one text into the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0]++
		for j := range len(b) {
			replace := before
			if a[i] != b[j] {
				replace++
			}
			before = row[j+1]
			row[j+1] = min(replace, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
