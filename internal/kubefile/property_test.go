package kubefile

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// seen is what a reader makes of a text: each object with its place, or the error.
func seen(input string, pieceSize int) (objects []string, err error) {
	r := reader{want: "an object", progress: func(string, int, int) {}, pieceSize: pieceSize}
	r.add = func(o object) error {
		value := o.json
		if o.pod != nil {
			value, _ = json.Marshal(o.pod)
		}
		line, column := o.at.Position("")
		objects = append(objects, fmt.Sprintf("%s:%d:%d %s", o.at, line, column, value))
		return nil
	}
	err = r.each(Source{Name: "f", Reader: strings.NewReader(input)})
	return objects, err
}

// listLines are lines of which a list may consist, and which one might mistake for
// others.
var listLines = []string{
	"- a: b\n", "- apiVersion: v1\n  kind: Pod\n  metadata: {name: p}\n  spec: {}\n  status: {}\n", "- c\n", "-\n", "- - d\n", "- - e\n  - f\n",
	"  g: h\n", "- \"i\n", "- j\"\n", "\"\n", "- 'k\n", "'\n", "- |\n", "  l\n", "  - m\n", " - n\n", "- >-\n  o\n\n- p\n", "- [q,\n", "- {r: s,\n", "]\n", "}\n",
	"# - t\n", "- u # v\n", "\n", "- w\r", "\r\n", "\u0085", "\u2028", "- &x y\n", "- *x\n", "- <<: *x\n", "---\n", "--- z\n", "...\n", "\t", "kind: List\n", "items:\n", "metadata: {}\n",
	"- !!str 5\n", "- yes: no\n", "- ? a\n", "  : b\n", "\uFEFF", "%YAML 1.1\n", "- a: 1\n  a: 2\n", hole + "\n", "items: " + hole + "\n", "-- \n", "- \n",
}

// TestCutIsWhole checks that a list that is cut is read as if it were not.
func TestCutIsWhole(t *testing.T) {
	cut := 0
	rapid.Check(t, func(t *rapid.T) {
		indent := rapid.SampledFrom([]string{"", "", "  "}).Draw(t, "indent")
		lines := rapid.SliceOfN(rapid.SampledFrom(listLines), 1, 12).Draw(t, "lines")
		if rapid.Bool().Draw(t, "a good list") {
			lines = rapid.SliceOfN(rapid.SampledFrom(listLines[:6]), 1, 12).Draw(t, "good lines")
		}
		head := rapid.SampledFrom([]string{"apiVersion: v1\nkind: List\n", "kind: List\napiVersion: v1\nx: \"\n", "a: |\n", "# a\n"}).Draw(t, "head")
		tail := rapid.SampledFrom([]string{"", "metadata:\n  a: b\n", "kind: x\n", "---\na: b\n", "\"\n"}).Draw(t, "tail")
		input := head + "items:\n" + indent + strings.ReplaceAll(strings.TrimSuffix(strings.Join(lines, ""), "\n"), "\n", "\n"+indent) + "\n" + tail
		size := rapid.IntRange(1, len(input)/4+1).Draw(t, "size")
		want, wantErr := seen(input, math.MaxInt/8)
		got, err := seen(input, size)
		if strings.Join(got, "\n") != strings.Join(want, "\n") || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("cut into pieces of %d:\n%s\n%v\nwant\n%s\n%v\nof\n%s", size, strings.Join(got, "\n"), err, strings.Join(want, "\n"), wantErr, input)
		}
		if _, pieces := (&text{bytes: []byte(input)}).cut(span{0, len(input)}, size); len(pieces) > 1 && err == nil {
			cut++
		}
	})
	if cut == 0 {
		t.Error("no list was cut")
	}
}

// FuzzCut looks for a text that is read differently when it is cut.
func FuzzCut(f *testing.F) {
	f.Add("kind: List\napiVersion: v1\nitems:\n- a\n- \"b\n- c\"\n- |\n d\n- e\nx: y\n", 3)
	f.Fuzz(func(t *testing.T, input string, size int) {
		want, wantErr := seen(input, math.MaxInt/8)
		got, err := seen(input, max(1, size%64))
		if strings.Join(got, "\n") != strings.Join(want, "\n") || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("got\n%s\n%v\nwant\n%s\n%v", strings.Join(got, "\n"), err, strings.Join(want, "\n"), wantErr)
		}
	})
}

// TestDocumentsInDocumentsOut prints objects one after the other, each in a format
// and behind a separator of its own, and checks that each comes back in its place.
func TestDocumentsInDocumentsOut(t *testing.T) {
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
		got, err := seen(input, rapid.SampledFrom([]int{1, 10, 1000}).Draw(t, "piece size"))
		if err != nil {
			t.Fatalf("got %v, want %d objects, of\n%s", err, len(want), input)
		}
		for i, o := range got {
			place, value, _ := strings.Cut(o, " {")
			got[i] = place[:strings.LastIndexByte(place[:strings.LastIndexByte(place, ':')], ':')] + " {" + value
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("got\n%s\nwant\n%s\nof\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), input)
		}
	})
}

// TestOneLongLine looks up fields of JSON on a single line, in time that grows with
// its length.
func TestOneLongLine(t *testing.T) {
	const owners = 40_000
	list := strings.TrimSuffix(strings.Repeat(`{"apiVersion":"v1","kind":"A","name":"a","uid":"b","controller":true},`, owners), ",")
	job := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","ownerReferences":[` + list + `]},"spec":{},"status":{}}`
	start := time.Now()
	in, err := Read(Source{Name: "f", Reader: strings.NewReader(job)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range owners {
		line, column := in.Jobs[0].At.Position(fmt.Sprintf("metadata.ownerReferences[%d].uid", i))
		if want := strings.Index(job, `"uid"`) + 1 + i*(len(list)+1)/owners; line != 1 || column != want {
			t.Fatalf("owner %d: got line %d, column %d, want 1, %d", i, line, column, want)
		}
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}
