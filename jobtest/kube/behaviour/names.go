package behaviour

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// names replaces values that differ between runs.
type names struct {
	namespace string
	// objects has the objects by name, and last the most recent values.
	objects map[string]*seen
	last    string
	uids    []string // in the order in which they were seen
	owners  []string // the names of the objects with these UIDs
	// versions are resource versions in the order in which they were seen.
	versions       []string
	list, proceed  string
	generatedNames map[string]string
}

// suffixLength is the length of the suffixes of generated names.
const suffixLength = 5

type seen struct{ uid, version, before string }

var variable = regexp.MustCompile(`\{[a-z0-9.-]+(-1)?\}`)

// fill replaces the variables of a request.
func (n *names) fill(text string) (string, error) {
	var unknown error
	filled := variable.ReplaceAllStringFunc(text, func(v string) string {
		name := strings.Trim(v, "{}")
		switch name {
		case "ns":
			return n.namespace
		case "name":
			return n.last
		case "list.rv":
			return n.list
		case "continue":
			return n.proceed
		}
		object, what, _ := strings.Cut(name, ".")
		o := n.objects[object]
		if o == nil {
			unknown = fmt.Errorf("there is no object %s in earlier answers", object)
			return v
		}
		switch what {
		case "uid":
			return o.uid
		case "rv":
			return o.version
		case "rv-1":
			return o.before
		}
		unknown = fmt.Errorf("%s is not a variable", v)
		return v
	})
	return filled, unknown
}

// render formats an answer, a sequence of JSON objects.
func (n *names) render(text []byte, show []string, now time.Time) (string, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return string(text), nil
	}
	var shown []string
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var answer map[string]any
		decoder.UseNumber()
		if err := decoder.Decode(&answer); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", err
		}
		n.learn(answer)
		_, annotated, _ := unstructured.NestedFieldNoCopy(answer, "object", "metadata", "annotations")
		if answer["type"] == "BOOKMARK" && !annotated {
			continue // a plain bookmark may arrive at any time
		}
		normal, _ := n.normal(answer, "", now).(map[string]any)
		part, err := yaml.Marshal(pick(normal, show))
		if err != nil {
			return "", err
		}
		shown = append(shown, strings.TrimSpace(string(part)))
	}
	return n.hide(strings.Join(shown, "\n---\n")), nil
}

// learn records the objects of an answer.
func (n *names) learn(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			n.learn(item)
		}
	case map[string]any:
		n.meet(unstructured.Unstructured{Object: v})
		for _, name := range []string{"items", "object"} {
			n.learn(v[name])
		}
	}
}

func (n *names) meet(met unstructured.Unstructured) {
	name, uid, version := met.GetName(), string(met.GetUID()), met.GetResourceVersion()
	if uid == "" {
		if version != "" {
			n.list, n.proceed = version, met.GetContinue()
		}
		return
	}
	if base := met.GetGenerateName(); base != "" && len(name) > suffixLength {
		if cut := name[:len(name)-suffixLength]; strings.HasPrefix(base, cut) {
			n.generatedNames[name] = cut + strings.Repeat("?", suffixLength)
		}
	}
	n.last = name
	if !slices.Contains(n.uids, uid) {
		n.uids, n.owners = append(n.uids, uid), append(n.owners, name)
	}
	if !slices.Contains(n.versions, version) {
		n.versions = append(n.versions, version)
	}
	o := n.objects[name]
	if o == nil {
		o = &seen{}
		n.objects[name] = o
	}
	if o.version != version {
		o.before, o.version = o.version, version
	}
	o.uid = uid
}

// normal replaces values that are whole fields: times and resource versions.
func (n *names) normal(value any, field string, now time.Time) any {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "managedFields")
		uniqueCauses(v)
		_, isObject := v["uid"]
		for name, part := range v {
			if name == "resourceVersion" && !isObject {
				v[name] = "(list)"
			} else if name == "continue" {
				v[name] = "(token)"
			} else {
				v[name] = n.normal(part, name, now)
			}
		}
	case []any:
		for i := range v {
			v[i] = n.normal(v[i], field, now)
		}
	case json.Number:
		if field == "resourceVersion" {
			return v.String()
		}
	case string:
		if field == "resourceVersion" {
			if i := slices.Index(n.versions, v); i >= 0 {
				return "(" + strconv.Itoa(i+1) + ")"
			}
		}
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			away := at.Sub(now).Round(10 * time.Second)
			switch {
			case away.Abs() > time.Hour:
			case away <= 0:
				return "(now)"
			default:
				return "(now+" + away.String() + ")"
			}
		}
	}
	return value
}

// uniqueCauses removes duplicate causes of a failure, because the API server checks some
// fields several times. It sorts them, because the API server iterates over maps. It drops
// the message, which repeats them.
func uniqueCauses(status map[string]any) {
	details, _ := status["details"].(map[string]any)
	causes, _ := details["causes"].([]any)
	if status["reason"] != "Invalid" || len(causes) == 0 {
		return
	}
	slices.SortFunc(causes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	details["causes"] = slices.CompactFunc(causes, reflect.DeepEqual)
	delete(status, "message")
}

// hide replaces values that may occur anywhere in a text.
func (n *names) hide(text string) string {
	text = strings.ReplaceAll(text, n.namespace, "(ns)")
	for i, uid := range n.uids {
		which := "(uid of " + n.owners[i] + ")"
		if slices.Contains(n.owners[:i], n.owners[i]) {
			which = "(another uid of " + n.owners[i] + ")"
		}
		text = strings.ReplaceAll(text, uid, which)
	}
	for name, shown := range n.generatedNames {
		text = strings.ReplaceAll(text, name, shown)
	}
	return text
}

// pick keeps the selected fields of an object, of each item of a list, or of the object of
// an event. It keeps a failure completely.
func pick(answer map[string]any, show []string) map[string]any {
	failed := answer["kind"] == "Status"
	if len(show) == 0 || failed && !slices.Contains(show, "reason") {
		return answer
	}
	if object, ok := answer["object"].(map[string]any); ok {
		return map[string]any{"type": answer["type"], "object": pick(object, show)}
	}
	picked := map[string]any{}
	for _, field := range show {
		copyField(picked, answer, strings.Split(field, "."))
	}
	if items, ok := answer["items"].([]any); ok {
		var kept []any
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				kept = append(kept, pick(object, show))
			}
		}
		picked["items"] = kept
	}
	return picked
}

func copyField(to, from map[string]any, path []string) {
	value, ok := from[path[0]]
	if !ok {
		return
	}
	if len(path) == 1 {
		to[path[0]] = value
		return
	}
	inner, ok := value.(map[string]any)
	if !ok {
		return
	}
	next, ok := to[path[0]].(map[string]any)
	if !ok {
		next = map[string]any{}
		to[path[0]] = next
	}
	copyField(next, inner, path[1:])
}
