package kubefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// seen returns each object in a text with its place, or the error.
func seen(input string) (out []string, err error) {
	all, wrong := objects(Source{Name: "f", Reader: strings.NewReader(input)}, "anything")
	for _, o := range all {
		line, column := o.at.Position("")
		text := o.json
		if o.pod != nil {
			text, _ = json.Marshal(o.pod)
		}
		out = append(out, fmt.Sprintf("%s:%d:%d %s", o.at, line, column, text))
	}
	return out, errors.Join(wrong...)
}

// whole returns a text with the same meaning that cutList does not cut.
func whole(input string) string {
	return strings.Replace(input, "\nitems:\n", "\nitems: \n", 1)
}

// listLines are lines that may occur in a list, including lines that are easily misread.
var listLines = []string{
	"- a: b\n", "- apiVersion: v1\n  kind: Pod\n  metadata: {name: p}\n  spec: {}\n  status: {}\n", "- {}\n", "- k:\n", "- k: [d]\n", "- k:\n  - e\n  - f\n", "- c\n",
	"  g: h\n", "- k: \"i\n", "- j\"\n", "\"\n", "- k: 'l\n", "'\n", "- k: |\n", "  l\n", "  - m\n", " - n\n", "- k: >-\n    o\n\n- k: p\n", "- {k: [q,\n", "- {r: s,\n", "]}\n", "}\n",
	"# - t\n", "- k: u # v\n", "\n", "- k: w\r", "\r\n", "\u0085", "\u2028", "- &x {y: z}\n", "- k: *x\n", "- <<: *x\n", "---\n", "--- z\n", "...\n", "\t", "kind: List\n", "items:\n", "metadata: {}\n",
	"- k: !!str 5\n", "- yes: no\n", "- ? a\n", "  : b\n", "\uFEFF", "%YAML 1.1\n", "- a: 1\n  a: 2\n", "items: []\n", "-- \n", "- \n",
}

// TestCuttingChangesNothing checks that cutting a list does not change the result.
func TestCuttingChangesNothing(t *testing.T) {
	lists := 0
	rapid.Check(t, func(t *rapid.T) {
		indent := rapid.SampledFrom([]string{"", "", "  "}).Draw(t, "indent")
		lines := rapid.SliceOfN(rapid.SampledFrom(listLines), 1, 12).Draw(t, "lines")
		head := rapid.SampledFrom([]string{"apiVersion: v1\n", "# a\n\napiVersion: v1\n", "kind: List\napiVersion: v1\nx: \"\n", "a: |\n", "# a\n"}).Draw(t, "head")
		tail := rapid.SampledFrom([]string{"kind: List\n", "kind: List\nmetadata:\n  a: b\n", "kind: x\n", "kind: List\nitems: []\n", "---\na: b\n", "\"\n"}).Draw(t, "tail")
		if rapid.Bool().Draw(t, "good lines") {
			lines = rapid.SliceOfN(rapid.SampledFrom(listLines[:6]), 1, 12).Draw(t, "the lines")
		}
		if rapid.Bool().Draw(t, "a good frame") {
			head, tail = "apiVersion: v1\n", "kind: List\n"
		}
		input := head + "items:\n" + indent + strings.ReplaceAll(strings.TrimSuffix(strings.Join(lines, ""), "\n"), "\n", "\n"+indent) + "\n" + tail
		checkCut(t, rapid.SampledFrom([]string{"", "a: b\n---\n"}).Draw(t, "before"), input)
		if _, items := cutList([]byte(input)); len(items) > 1 {
			lists++
		}
	})
	if lists == 0 {
		t.Error("no list was cut")
	}
}

// notString matches a key that YAML does not read as a string, or a string that looks like
// such a key. In JSON 0, 0. and "0" become the same key, and kubectl's parser keeps any one
// of them.
var notString = regexp.MustCompile(`(?i)(^|\W)(y|n|yes|no|on|off|true|false|null|~|[-+.]*(inf|nan|[0-9][-+.:_0-9a-fx]*))['"]?\s*:`)

// checkCut checks that cutting a list does not change the result.
func checkCut(t rapid.TB, before, list string) {
	t.Helper()
	if len(notString.FindAllString(list, 2)) > 1 {
		return
	}
	want, wantErr := seen(before + whole(list))
	got, err := seen(before + list)
	if strings.Join(got, "\n") != strings.Join(want, "\n") || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Errorf("cut:\n%s\n%v\nwant\n%s\n%v\nof\n%s", strings.Join(got, "\n"), err, strings.Join(want, "\n"), wantErr, list)
	}
}

var position = regexp.MustCompile(`:\d+:\d+`)

// TestCuttingJSONChangesNothing checks that cutting a list in JSON does not change the result.
func TestCuttingJSONChangesNothing(t *testing.T) {
	parts := []string{"{", "}", "[", "]", ",", ":", ",", `"items"`, `"items":[`, `"kind":"List"`, `"a"`, "1", "null", " ", "\n", `"\"`, `"\\"`, `"],\"items\":["`,
		`{"kind":"Pod","spec":{"containers":[{}]},"status":{"phase":"Running"}}`, `{"a":"}"}`, `{"kind":"Pod","spec":null}`, "[[]]"}
	lists := 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(of []string, most int) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(of), 0, most).Draw(t, "parts"), "")
		}
		input := draw(parts, 12)
		if rapid.Bool().Draw(t, "a good frame") {
			items := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts[10:]), 0, 5).Draw(t, "items"), ",")
			input = `{"kind":"List","items": [` + items + draw(parts, 1) + `],"metadata":{}}` + draw(parts, 3)
		}
		if _, _, items := cut([]byte(input)); items != nil {
			lists++
		}
		want, wantErr := seen("{}" + strings.ReplaceAll(input, `"items"`, `"\u0069tems"`))
		got, err := seen("{}" + input)
		for i := range min(len(got), len(want)) { // the positions differ
			got[i], want[i] = position.ReplaceAllString(got[i], ""), position.ReplaceAllString(want[i], "")
		}
		if (err == nil) != (wantErr == nil) || err == nil && !slices.Equal(got, want) {
			t.Errorf("cut:\n%q\n%v\nwant\n%q\n%v\nof\n%s", got, err, want, wantErr, input)
		}
	})
	if lists == 0 {
		t.Error("no list was cut")
	}
}

// TestKeysThatBecomeEqual reads a map with keys that differ in YAML, but not in JSON. A duplicate
// key in YAML is an error.
func TestKeysThatBecomeEqual(t *testing.T) {
	const one, other = `f: document 1:1:1 {"0":[null],"2":null}`, `f: document 1:1:1 {"0":null,"2":null}`
	for range 100 {
		got, err := seen("0: \n0.:\n-\n2:\n")
		if err != nil || len(got) != 1 || got[0] != one && got[0] != other {
			t.Fatal(got, err)
		}
	}
	if got, err := seen("0: \n0:\n-\n"); err == nil {
		t.Error("a duplicate key:", got)
	}
}

// TestPosition finds the positions of fields in YAML and JSON, and for missing fields those of
// their parents.
func TestPosition(t *testing.T) {
	const yaml = "# a comment\nspec:\n  rules:\n  - a: 1\n    b: &b {c: 2}\n  - *b\nlabels:\n  a: 1\n  a.b: 2\n  a.b/c: 3\n\"\": 4\n"
	for _, tc := range []struct{ input, field, want string }{
		{yaml, "", "2:1"},
		{yaml, "spec", "2:1"},
		{yaml, "spec.rules[0].b", "5:5"},
		{yaml, "spec.rules[0].b.c", "5:12"},
		{yaml, "spec.rules[1].c", "5:12"},
		{yaml, "spec.rules[2].c", "3:3"},
		{yaml, "spec.rules[x]", "3:3"},
		{yaml, "spec.nothing", "2:1"},
		{yaml, "labels.a", "8:3"},
		{yaml, "labels.a.b", "9:3"},
		{yaml, "labels[a.b/c]", "10:3"},
		{yaml, "labels.a.b/c.d", "10:3"},
		{yaml, "labels.ab", "7:1"},
		{"\n  {\"a\": [1,\n{\"ü\": 2, \"b\": 3}]}", "", "2:3"},
		{"\n  {\"a\": [1,\n{\"ü\": 2, \"b\": 3}]}", "a", "2:4"},
		{"\n  {\"a\": [1,\n{\"ü\": 2, \"b\": 3}]}", "a[1].b", "3:10"},
		{"{}\n---\nx: y\n", "x", "3:1"},
		{strings.Repeat("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"x\":1}]}\n", 2), "x", "2:44"},
		{"--- {\"x\": 1}\n\t\n", "x", "1:6"},
	} {
		all, wrong := objects(Source{Name: "f", Reader: strings.NewReader(tc.input)}, "anything")
		if wrong != nil {
			t.Fatal(wrong)
		}
		if line, column := all[len(all)-1].at.Position(tc.field); fmt.Sprintf("%d:%d", line, column) != tc.want {
			t.Errorf("%s: got %d:%d, want %s, in\n%s", tc.field, line, column, tc.want, tc.input)
		}
	}
}

// FuzzCut searches for a text with a different result when it is cut. It begins with lists that only look like lists of
// kubectl, and are not cut.
func FuzzCut(f *testing.F) {
	const head, tail = "apiVersion: v1\nitems:\n", "kind: List\n"
	for _, input := range []string{
		head + "  \u0085- a: b\n  - a: b\n  - a: b\n" + tail,
		head + "\n  - m: n\n- a: b\n- a: b\n" + tail,
		head + "- a: b\n- a: b\n%YAML 1.1\n- a: b\n" + tail,
		head + "- &x {a: b}\n- *x\n" + tail,
		head + "- a: \"b\n- c\"\n- d: e\n" + tail,
		head + "- a: b\n-\n  c: d\n- e: f\n" + tail,
		head + "  - a: b\n  - c: d\n e: f\n" + tail,
		head + "- a: b\u0085---\u0085x: y\n- c: d\n" + tail,
		head + "- a: b\n- c: d\u2028...\u2028g: h\n" + tail,
		head + "- a: b\u2029---\u2029x: y\n- c: d\n" + tail,
		head + "  - a: b\n-x: y\n  - c: d\n" + tail,
		head + "- a: b\n- c: d\n" + tail + "items: []\n",
		head + "- a: b\n- c: d\n" + tail + "metadata:\n  resourceVersion: \"\n",
		"apiVersion: v1\nkind: List\nx: '\nitems:\n- a: b\n- a: b\n'\nitems:\n- c: d\n",
		"a: |\nitems:\n- a: b\n- a: b\n",
		"apiVersion: v1\nx: \"\nitems:\n- a: b\ny: \"\nitems: [the items\nwere here]\nkind: List\n", // once the mark
		"apiVersion: v1\nitems:\n- a\n- \"b\n- c\"\n- |\n d\n- e\nkind: List\n",
		"apiVersion: 1\nitems:\n- a\n- e\nkind: List\n", // a version is not a number
		"apiVersion: true\nitems:\n- a\n- e\nkind: List\n",
	} {
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input string) { checkCut(t, "", input) })
}

// TestEachWrittenDocumentIsRead writes objects one after the other, in random formats and with
// random separators, and checks that each is read with its place.
func TestEachWrittenDocumentIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		var want []string
		wasJSON := true
		for document := range rapid.IntRange(1, 6).Draw(t, "documents") {
			isJSON := rapid.Bool().Draw(t, "JSON")
			separator := rapid.SampledFrom([]string{"---\n", "--- # a comment\n", "\n---\n\n", "...\n---\n", "---\r\n", "---\n---\n"}).Draw(t, "separator")
			if isJSON {
				separator = rapid.SampledFrom([]string{"---\n", "--- ", "\n---\n  "}).Draw(t, "separator before JSON")
				if wasJSON && rapid.Bool().Draw(t, "no separator") {
					separator = ""
				}
			}
			if separator != "" && !strings.HasPrefix(separator, "\n") {
				separator = "\n" + separator
			}
			if b.Len() == 0 { // nothing ends before the first document
				separator = strings.ReplaceAll(separator, "...", "# b")
			}
			b.WriteString(separator)
			wasJSON = isJSON
			n := rapid.IntRange(0, 3).Draw(t, "items")
			list := rapid.Bool().Draw(t, "list")
			if !list {
				n = 1
			}
			var items []string
			for item := range n {
				name := rapid.SampledFrom([]string{"a", "-", "--- x", "# y", "\" {", "\n---\n", "\n- b\n", "ü\U0001F600", "{", "..."}).Draw(t, "name")
				quoted, _ := json.Marshal(map[string]any{"kind": "Thing", "name": name})
				place := fmt.Sprintf("f: document %d", document+1)
				if list {
					place += fmt.Sprintf(", item %d", item+1)
				}
				want = append(want, place+" "+string(quoted))
				items = append(items, string(quoted))
			}
			switch {
			case isJSON && list:
				b.WriteString(`{"kind":"List","apiVersion":"v1","items":[` + strings.Join(items, ",\n") + "]}")
			case isJSON:
				b.WriteString(items[0])
			case list:
				b.WriteString("apiVersion: v1\nitems:\n")
				for _, item := range items {
					b.WriteString("- " + item + "\n")
				}
				b.WriteString("kind: List\n")
			default:
				name := strings.TrimPrefix(strings.TrimSuffix(items[0], "}"), `{"kind":"Thing","name":`)
				b.WriteString("kind: Thing\nname: " + name + "\n")
			}
		}
		input := b.String()
		got, err := seen(input)
		if err != nil {
			t.Fatalf("got %v, want %d objects, of\n%s", err, len(want), input)
		}
		for i, o := range got {
			place, value, _ := strings.Cut(o, " {")
			got[i] = place[:strings.LastIndexByte(place[:strings.LastIndexByte(place, ':')], ':')] + " {" + value
		}
		Same(t, input, got, want)
	})
}

// TestReadDocument_errors checks errors that no text has.
func TestReadDocument_errors(t *testing.T) {
	broken := Source{Name: "f", Reader: iotest.ErrReader(errors.New("no more"))}
	if _, err := ReadDocument(broken, "a thing", nil); err == nil || err.Error() != "f: no more" {
		t.Errorf("got %v, want f: no more", err)
	}
	if _, err := ReadDocument(Source{Name: "f", Reader: strings.NewReader("a: 1\n")}, "a thing", func(text []byte) error {
		if string(text) == `{"a":1}` {
			return errors.New("only as a whole")
		}
		return nil
	}); err == nil || err.Error() != "f:1: a: only as a whole" {
		t.Errorf("got %v, want f:1: a: only as a whole", err)
	}
}

// TestOneLongLine looks up fields of JSON on a single line: the text is parsed once.
func TestOneLongLine(t *testing.T) {
	const owners = 25_000
	list := strings.TrimSuffix(strings.Repeat(`{"apiVersion":"v1","kind":"A","name":"a","uid":"b","controller":true},`, owners), ",")
	job := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","ownerReferences":[` + list + `]},"spec":{},"status":{}}`
	in := Must(Read(Source{Name: "f", Reader: strings.NewReader(job)}))
	for i := range owners {
		line, column := in.Jobs[0].At.Position(fmt.Sprintf("metadata.ownerReferences[%d].uid", i))
		if want := strings.Index(job, `"uid"`) + 1 + i*(len(list)+1)/owners; line != 1 || column != want {
			t.Fatalf("owner %d: got line %d, column %d, want 1, %d", i, line, column, want)
		}
	}
	allocs := testing.AllocsPerRun(10, func() { in.Jobs[0].At.Position("metadata.ownerReferences[1].uid") })
	if allocs > 10 {
		t.Errorf("a lookup makes %v allocations, as if it parsed the text again", allocs)
	}
}

// TestInOrder checks that results are in order, and that no more are produced after the caller has
// stopped.
func TestInOrder(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		var got []int
		for i, square := range inOrder(n, func(i int) int { return i * i }) {
			Same(t, fmt.Sprint("the square of ", i), square, i*i)
			got = append(got, i)
		}
		if len(got) != n || !slices.IsSorted(got) {
			t.Errorf("got %v, want the numbers below %d", got, n)
		}
	}
	var produced atomic.Int64
	for i := range inOrder(1000, func(int) int { return int(produced.Add(1)) }) {
		if i == 10 {
			break
		}
	}
	if n := int(produced.Load()); n < 11 || n > 11+(ahead+2)*runtime.GOMAXPROCS(0) {
		t.Errorf("%d were produced, want 11 and at most %d more for each core", n, ahead+2)
	}
}
