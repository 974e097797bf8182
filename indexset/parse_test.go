package indexset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The field comments of batch/v1 (JobStatus) and KEP-3850, "Failed indexes
// format", say what canonical text is.
func TestCanonicalText(t *testing.T) {
	tests := []struct {
		sentence string
		indexes  []int32
		want     string
	}{
		{
			"For example, if the failed indexes are 1, 3, 4, 5 and 7, they are represented as \"1,3-5,7\".",
			[]int32{1, 3, 4, 5, 7}, "1,3-5,7",
		},
		{
			"Three or more consecutive numbers are compressed and represented by the first and last element of the series, separated by a hyphen.",
			[]int32{0, 1, 2, 8, 9, 10, 11}, "0-2,8-11",
		},
		{
			"Three or more consecutive numbers are compressed: two are not",
			[]int32{3, 4, 8, 9}, "3,4,8,9",
		},
		{
			"The numbers are listed in increasing order.",
			[]int32{10, 9, 100, 2, 0}, "0,2,9,10,100",
		},
		{
			"In the worst-case scenario this is a string of comma-separated even values.",
			[]int32{0, 2, 4, 6, 8, 10}, "0,2,4,6,8,10",
		},
	}
	for _, tt := range tests {
		s := Of(tt.indexes...)
		if s.String() != tt.want {
			t.Errorf("%s\ngot %q, want %q", tt.sentence, s, tt.want)
		}
		parsed, err := Parse(tt.want)
		if err != nil || !parsed.Equal(s) {
			t.Errorf("%s\nParse(%q): got %v, %v, want %v", tt.sentence, tt.want, parsed, err, s)
		}
	}
}

func TestParse(t *testing.T) {
	accepted := []string{
		"", "0", "7", "10", "0,2", "3,4", "0,1", "0-2", "1,3-5,7", "3,4,6,7", "3,4,6-8", "0-2,4,5,7-9",
		"2147483646", "2147483645,2147483646", "0-2147483646", "999999999,2000000000", "9,10,99,100,999-1001",
	}
	for _, text := range accepted {
		s, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		reads(t, "Parse", s, text)
	}

	const (
		missing  = "an index is missing"
		digits   = "an index has digits only"
		zero     = "an index has no leading zero"
		large    = "an index is at most 2147483646"
		parts    = "an interval has two parts"
		reversed = "an interval ends after it starts"
		single   = "one index is written as itself"
		pair     = "two consecutive indexes are written with a comma"
		grouped  = "three or more consecutive indexes are written first-last"
	)
	refused := []struct {
		text string
		want SyntaxError
	}{
		{",", SyntaxError{"", 0, missing}},
		{"1,", SyntaxError{"", 2, missing}},
		{",1", SyntaxError{"", 0, missing}},
		{"1,,3", SyntaxError{"", 2, missing}},
		{"-", SyntaxError{"-", 0, missing}},
		{"1-", SyntaxError{"1-", 0, missing}},
		{"-5", SyntaxError{"-5", 0, missing}},
		{"1, 3", SyntaxError{" 3", 2, digits}},
		{"1 ", SyntaxError{"1 ", 0, digits}},
		{"+5", SyntaxError{"+5", 0, digits}},
		{"0,2-+5", SyntaxError{"2-+5", 2, digits}},
		{"1_0", SyntaxError{"1_0", 0, digits}},
		{"0x1", SyntaxError{"0x1", 0, digits}},
		{"٣", SyntaxError{"٣", 0, digits}},
		{"1\x00", SyntaxError{"1\x00", 0, digits}},
		{"1/", SyntaxError{"1/", 0, digits}},
		{"1:", SyntaxError{"1:", 0, digits}},
		{"00", SyntaxError{"00", 0, zero}},
		{"1,007", SyntaxError{"007", 2, zero}},
		{"0-05", SyntaxError{"0-05", 0, zero}},
		{"2147483647", SyntaxError{"2147483647", 0, large}},
		{"5,2147483647,9", SyntaxError{"2147483647", 2, large}},
		{"0-2147483647", SyntaxError{"0-2147483647", 0, large}},
		{"10000000000", SyntaxError{"10000000000", 0, large}},
		{"18446744073709551617", SyntaxError{"18446744073709551617", 0, large}}, // 2^64 + 1
		{"1-2-3", SyntaxError{"1-2-3", 0, parts}},
		{"0,1--3", SyntaxError{"1--3", 2, parts}},
		{"9-3", SyntaxError{"9-3", 0, reversed}},
		{"5-5", SyntaxError{"5-5", 0, single}},
		{"3-4", SyntaxError{"3-4", 0, pair}},
		{"5,1", SyntaxError{"1", 2, "indexes increase, and 5 came before"}},
		{"2,2", SyntaxError{"2", 2, "indexes increase, and 2 came before"}},
		{"1-5,3", SyntaxError{"3", 4, "indexes increase, and 5 came before"}},
		{"1-5,5-9", SyntaxError{"5-9", 4, "indexes increase, and 5 came before"}},
		{"3,4,5", SyntaxError{"5", 4, grouped}},
		{"1-3,4", SyntaxError{"4", 4, grouped}},
		{"1-3,4-6", SyntaxError{"4-6", 4, grouped}},
		{"3,4-6", SyntaxError{"4-6", 2, grouped}},
		{"3,4,5-7", SyntaxError{"5-7", 4, grouped}},
	}
	for _, tt := range refused {
		s, err := Parse(tt.text)
		var got *SyntaxError
		if !errors.As(err, &got) || *got != tt.want {
			t.Errorf("Parse(%q): got %v, %v, want %v", tt.text, s, err, &tt.want)
		}
		if !s.IsEmpty() {
			t.Errorf("Parse(%q): got %v with the error, want the empty set", tt.text, s)
		}
	}
}

func TestSyntaxErrorText(t *testing.T) {
	_, err := Parse("1,007")
	if got, want := err.Error(), `indexes: fragment "007" at offset 2: an index has no leading zero`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMustParse(t *testing.T) {
	if got := MustParse("1,3-5"); !got.Equal(Of(1, 3, 4, 5)) {
		t.Errorf("got %v, want 1,3-5", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("MustParse of a text that is not canonical: got no panic, want one")
		}
	}()
	MustParse("5,1")
}

func TestMarshal(t *testing.T) {
	type status struct{ Completed Set }
	for _, text := range []string{"", "0", "3,4", "1,3-5,7", "0-2147483646"} {
		out, err := json.Marshal(status{MustParse(text)})
		if want := `{"Completed":"` + text + `"}`; err != nil || string(out) != want {
			t.Errorf("Marshal: got %s, %v, want %s", out, err, want)
		}
		back := status{Of(99)}
		if err := json.Unmarshal(out, &back); err != nil || !back.Completed.Equal(MustParse(text)) {
			t.Errorf("Unmarshal(%s): got %v, %v", out, back.Completed, err)
		}
	}
	kept := Of(99)
	if err := kept.UnmarshalText([]byte("3-4")); err == nil || !kept.Equal(Of(99)) {
		t.Errorf("UnmarshalText of text that is not canonical: got %v, %v, want 99 and an error", kept, err)
	}
	if got, _ := (Set{}).MarshalText(); got == nil {
		t.Error("MarshalText of the empty set: got nil, want text of no length")
	}
}

func TestParseOrdered(t *testing.T) {
	tests := []struct {
		reason      string
		text        string
		completions int32
		want        string
		err         string
	}{
		{"no text", "", 6, "", ""},
		{"no text, no completions", "", 0, "", ""},
		{"canonical", "0,1-3,5,7-10", 12, "0-3,5,7-10", ""},
		{"two with a hyphen", "3-4", 6, "3,4", ""},
		{"three not grouped", "1,2,3", 6, "1-3", ""},
		{"adjacent intervals", "1-3,4-6", 9, "1-6", ""},
		{"plus sign", "+5", 6, "5", ""},
		{"leading zeros", "007", 8, "7", ""},
		{"signs and zeros in an interval", "+01-+03,004", 8, "1-4", ""},
		{"all possible indexes", "0-2147483646", math.MaxInt32, "0-2147483646", ""},
		{"zeros beyond 19 digits", strings.Repeat("0", 30) + "7", 8, "7", ""},

		{"at completions", "7", 7, "", `too large index: "7"`},
		{"end at completions", "5-7", 7, "", `too large index: "7"`},
		{"no completions", "0", 0, "", `too large index: "0"`},
		{"completions below zero", "0", -3, "", `too large index: "0"`},
		{"too large, as it was written", "+007", 7, "", `too large index: "+007"`},
		{"just fits into 64 bits", "9223372036854775807", 7, "", `too large index: "9223372036854775807"`},
		{"does not fit into 64 bits", "9223372036854775808", 7, "", `cannot convert string to integer for index: "9223372036854775808"`},
		{"unsorted", "5,1", 7, "", `non-increasing order, previous: 5, current: 1`},
		{"twice", "2,2", 7, "", `non-increasing order, previous: 2, current: 2`},
		{"overlap", "1-5,3", 7, "", `non-increasing order, previous: 5, current: 3`},
		{"reversed", "9-3", 10, "", `non-increasing order, previous: 9, current: 3`},
		{"an interval of one", "1-1", 7, "", `non-increasing order, previous: 1, current: 1`},
		{"reversed and unsorted: reversed is reported", "5,4-3", 7, "", `non-increasing order, previous: 4, current: 3`},
		{"three parts", "1-2-3", 7, "", `the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`},
		{"three parts, the first not a number", "x--", 7, "", `the fragment "x--" violates the requirement that an index interval can have at most two parts separated by '-'`},
		{"a negative number is two parts", "-5", 7, "", `cannot convert string to integer for index: ""`},
		{"so is minus zero", "-0", 7, "", `cannot convert string to integer for index: ""`},
		{"negative after a plus", "+-5", 7, "", `cannot convert string to integer for index: "+"`},
		{"open end", "0,1-", 7, "", `cannot convert string to integer for index: ""`},
		{"a comma too many", "0,,1", 7, "", `cannot convert string to integer for index: ""`},
		{"only a comma", ",", 7, "", `cannot convert string to integer for index: ""`},
		{"space", "0, 5", 7, "", `cannot convert string to integer for index: " 5"`},
		{"quoted as Go quotes", "0,\"\n\xff", 7, "", `cannot convert string to integer for index: "\"\n\xff"`},
		{"underscore", "1_0", 70, "", `cannot convert string to integer for index: "1_0"`},
		{"the first fault is reported", "0,9,x", 7, "", `too large index: "9"`},
		{"the first part is checked first", "9-x", 7, "", `too large index: "9"`},
		{"the second part is checked before the order", "5,3-9", 7, "", `too large index: "9"`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := ParseOrdered(tt.text, tt.completions)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || err.Error() != tt.err) {
				t.Fatalf("ParseOrdered(%q, %d): got error %v, want %q", tt.text, tt.completions, err, tt.err)
			}
			reads(t, fmt.Sprintf("ParseOrdered(%q, %d)", tt.text, tt.completions), got, tt.want)
		})
	}
}

func TestParseOrderedErrorHasThePosition(t *testing.T) {
	_, err := ParseOrdered("0,2-4,3,9", 10)
	var got *SyntaxError
	want := SyntaxError{"3", 6, "non-increasing order, previous: 4, current: 3"}
	if !errors.As(err, &got) || *got != want {
		t.Errorf("got %v, want %v", got, &want)
	}
}

func TestParseDamaged(t *testing.T) {
	tests := []struct {
		reason      string
		text        string
		completions int32
		want        string
		damage      string
	}{
		{"canonical", "1,3-5,7", 8, "1,3-5,7", ""},
		{"no text", "", 8, "", ""},
		{"no text, no completions", "", 0, "", ""},

		{"clipped at the start of an interval", "1,3-5,7", 7, "1,3-5", "offset 6: completions are 7"},
		{"clipped within an interval", "1,3-5,7", 4, "1,3", "offset 2: completions are 4"},
		{"clipped between a pair", "0,3,4", 4, "0,3", "offset 4: completions are 4"},
		{"clipped within the first interval; the damage names the first cut", "1-5,7", 3, "1,2", "offset 0: completions are 3"},
		{"clipped to nothing", "1,3-5,7", 0, "", "offset 0: completions are 0"},
		{"completions below zero", "1,3-5,7", -1, "", "offset 0: completions are -1"},

		{"unreadable fragments are skipped", "x,1,,3- 4,5-,-6,7", 9, "1,7", "offset 0: an index has digits only"},
		{"too large to be read is skipped", "1,9223372036854775808,3", 9, "1,3", "offset 2: an index is at most 2147483646"},
		{"large but readable ends the parsing", "1,9223372036854775807,3", 9, "1", "offset 2: an index is at most 2147483646"},
		{"the first at completions ends the parsing", "1,8,3", 8, "1", "offset 4: indexes increase, and 8 came before"},
		{"a start at completions ends the parsing even if the second part is unreadable", "1,8-,3", 8, "1", "offset 2: an index is missing"},
		{"an end beyond completions is clipped, and parsing continues", "5-99,1", 8, "1,5-7", "offset 5: indexes increase, and 99 came before"},
		{"an end too large to be read: the fragment is skipped", "1,3-9223372036854775808", 9, "1", "offset 2: an index is at most 2147483646"},
		{"only the spelling is wrong", "+1,003-4", 8, "1,3,4", "offset 0: an index has digits only"},
		{"the damage may be in the part that is not parsed", "1,9,x", 5, "1", "offset 4: an index has digits only"},
		{"canonical except for a trailing comma", "1,3-5,", 8, "1,3-5", "offset 6: an index is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, damage := ParseDamaged(tt.text, tt.completions)
			check(t, tt.text, got, slowDamaged(tt.text, tt.completions))
			reads(t, fmt.Sprintf("ParseDamaged(%q, %d)", tt.text, tt.completions), got, tt.want)
			where := ""
			if damage != nil {
				where = fmt.Sprintf("offset %d: %s", damage.Offset, damage.Reason)
			}
			if where != tt.damage {
				t.Errorf("ParseDamaged(%q, %d): got damage %q, want %q", tt.text, tt.completions, where, tt.damage)
			}
		})
	}
}

// The Job controller reads these texts as lists that are not sets: its counts are then
// wrong, its search fails, or its metrics would have to fall.
func TestLessons(t *testing.T) {
	tests := []struct {
		lesson  string
		text    string
		damaged string
		reason  string
		server  string
	}{
		{"`9-3` counts -5", "9-3", "", "an interval ends after it starts", "non-increasing order, previous: 9, current: 3"},
		{"`1-5,3` counts 6", "1-5,3", "1-5", "indexes increase, and 5 came before", "non-increasing order, previous: 5, current: 3"},
		{"`5,1` breaks the search", "5,1", "1,5", "indexes increase, and 5 came before", "non-increasing order, previous: 5, current: 1"},
		{"`1-2-3` is read as `1-2`", "1-2-3", "1,2", "an interval has two parts", `the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`},
		{"`2,2` counts 2", "2,2", "2", "indexes increase, and 2 came before", "non-increasing order, previous: 2, current: 2"},
		{"`1-5,6-2` shrinks to `1-2`", "1-5,6-2", "1-5", "an interval ends after it starts", "non-increasing order, previous: 6, current: 2"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var fault *SyntaxError
			if _, err := Parse(tt.text); !errors.As(err, &fault) || fault.Reason != tt.reason {
				t.Errorf("%s: Parse: got %v, want %s", tt.lesson, err, tt.reason)
			}
			if _, err := ParseOrdered(tt.text, 10); err == nil || err.Error() != tt.server {
				t.Errorf("%s: ParseOrdered: got %v, want %s", tt.lesson, err, tt.server)
			}
			got, damage := ParseDamaged(tt.text, 10)
			reads(t, tt.lesson+": ParseDamaged", got, tt.damaged)
			if got.Len() < 0 {
				t.Errorf("%s: ParseDamaged: got Len %d", tt.lesson, got.Len())
			}
			for i := range int32(10) {
				if want := MustParse(tt.damaged).Contains(i); got.Contains(i) != want {
					t.Errorf("%s: Contains(%d): got %t, want %t", tt.lesson, i, !want, want)
				}
			}
			if damage == nil || *damage != *fault {
				t.Errorf("%s: got damage %v, want %v", tt.lesson, damage, fault)
			}
		})
	}
}

// A text of a few bytes can name 2^31 indexes many times over.
func TestParsersNeverExpandRanges(t *testing.T) {
	var descending []string
	for i := 1000; i > 0; i-- {
		descending = append(descending, strings.Repeat("0", i%3)+"1000-2000000000", "7-2147483646")
	}
	text := strings.Join(descending, ",")
	got, damage := ParseDamaged(text, math.MaxInt32)
	if got.String() != "7-2147483646" || damage == nil || damage.Reason == "completions are 2147483647" {
		t.Errorf("got %q, %v, want 7-2147483646, not canonical", got, damage)
	}
}

func drawText() *rapid.Generator[string] {
	number := rapid.SampledFrom([]string{
		"0", "1", "2", "3", "4", "5", "7", "9", "10", "11", "15", "19", "20", "21", "38", "39", "40", "41",
		"", "+5", "007", "-1", " 8", "x", "1_2", "2147483646", "2147483647", "9223372036854775807", "9223372036854775808", "18446744073709551621",
	})
	fragment := rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SampledFrom([]int{1, 1, 1, 2, 2, 2, 3}).Draw(t, "parts")
		return strings.Join(rapid.SliceOfN(number, parts, parts).Draw(t, "numbers"), "-")
	})
	broken := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(fragment, 0, 8).Draw(t, "fragments"), ",")
	})
	canonical := rapid.Map(drawWindow(0), func(w window) string { return w.oracle().text() })
	return rapid.OneOf(broken, canonical, rapid.StringMatching(`[0-9,+-]{0,12}`))
}

func TestParsersMatchOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkParsers(t, drawText().Draw(t, "text"), rapid.Int32Range(-1, windowSize+1).Draw(t, "completions"))
	})
}

// checkParsers compares the three parsers with the oracle and with each other.
// FuzzParse calls it too.
func checkParsers(t rapid.TB, text string, completions int32) {
	t.Helper()
	canonical, err := Parse(text)
	wellFormed(t, "Parse", canonical)
	if err == nil && canonical.String() != text {
		t.Fatalf("Parse(%q).String(): got %q", text, canonical)
	}
	var fault *SyntaxError
	if err != nil && (!errors.As(err, &fault) || !strings.HasPrefix(text[fault.Offset:], fault.Fragment)) {
		t.Fatalf("Parse(%q): got %v, want a *SyntaxError with the fragment at its offset", text, err)
	}

	checkOrdered(t, text, completions, err == nil)

	all, damage := ParseDamaged(text, math.MaxInt32)
	wellFormed(t, "ParseDamaged of all", all)
	if err == nil && (!all.Equal(canonical) || damage != nil) {
		t.Fatalf("ParseDamaged(%q, all): got %v, %v, want the set of Parse, intact", text, all, damage)
	}
	if err != nil && all.String() == text {
		t.Fatalf("Parse(%q): got %v, want the canonical text accepted", text, err)
	}

	damaged, damage := ParseDamaged(text, completions)
	check(t, "ParseDamaged", damaged, slowDamaged(text, completions))
	want := fault
	if err == nil && !damaged.Equal(canonical) {
		if damage == nil || !strings.HasPrefix(text[damage.Offset:], damage.Fragment) {
			t.Fatalf("ParseDamaged(%q, %d): got %v, want the fragment at its offset", text, completions, damage)
		}
		want = &SyntaxError{damage.Fragment, damage.Offset, fmt.Sprintf("completions are %d", completions)}
		// The text before the offset is intact, and the fragment at the offset is cut.
		whole, before := ParseDamaged(strings.TrimSuffix(text[:damage.Offset], ","), completions)
		next, after := ParseDamaged(strings.Split(text[damage.Offset:], ",")[0], completions)
		if before != nil || after == nil || !whole.Union(next).Equal(damaged) {
			t.Fatalf("ParseDamaged(%q, %d): got offset %d, want that of the first fragment that is cut", text, completions, damage.Offset)
		}
	}
	if (damage == nil) != (want == nil) || want != nil && *damage != *want {
		t.Fatalf("ParseDamaged(%q, %d): got damage %v, want %v", text, completions, damage, want)
	}
}

func checkOrdered(t rapid.TB, text string, completions int32, canonical bool) {
	t.Helper()
	want, wantErr := slowOrdered(text, completions)
	ordered, err := ParseOrdered(text, completions)
	switch {
	case wantErr != "":
		var fault *SyntaxError
		if err == nil || err.Error() != wantErr || !errors.As(err, &fault) || !strings.HasPrefix(text[fault.Offset:], fault.Fragment) {
			t.Fatalf("ParseOrdered(%q, %d): got %v, %v, want error %q", text, completions, ordered, err, wantErr)
		}
	case err != nil:
		t.Fatalf("ParseOrdered(%q, %d): got error %v, want %v", text, completions, err, want.text())
	default:
		check(t, "ParseOrdered", ordered, want)
	}
	if all, err := ParseOrdered(text, math.MaxInt32); canonical && (err != nil || all.String() != text) {
		t.Fatalf("ParseOrdered(%q, all): got %v, %v, want all that Parse accepts", text, all, err)
	}
}
