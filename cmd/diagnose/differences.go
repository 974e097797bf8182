package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
)

// differences lists what differs between two values of JSON. Lists of named objects are compared by name. It shows no
// values of variables and arguments, which may be secret, and no whole objects.
func differences(path string, was, is any) (all []string) {
	before, old := fieldsOf(was)
	after, same := fieldsOf(is)
	switch {
	case reflect.DeepEqual(was, is):
	case old && same:
		both := maps.Clone(before)
		maps.Copy(both, after)
		delete(both, "serviceAccount") // the same as serviceAccountName
		for _, key := range slices.Sorted(maps.Keys(both)) {
			all = append(all, differences(joined(".", path, key), before[key], after[key])...)
		}
	case old || same || hidden.MatchString(path):
		return []string{path}
	default:
		text := func(value any) string { return either(value == nil, "unset", fmt.Sprint(value)) }
		return []string{path + " was " + text(was) + " and is " + text(is)}
	}
	return all
}

// hidden matches the paths of values that may be secret.
var hidden = regexp.MustCompile(`\.(env|args|command)\b`)

// fieldsOf returns the fields of an object or, by their names, the objects of a list; those of nil are empty.
func fieldsOf(value any) (fields map[string]any, ok bool) {
	switch value := value.(type) {
	case map[string]any:
		return value, true
	case []any:
		fields = map[string]any{}
		for i, item := range value {
			of, _ := item.(map[string]any)
			fields[cmp.Or(object(of).text("name"), strconv.Itoa(i))] = item
		}
		return fields, true
	}
	return nil, false
}
