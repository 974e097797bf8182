package indexset

import (
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
		same(t, tt.sentence, s.String(), tt.want)
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
		same(t, tt.text+": the set with the error", s, Set{})
	}
}

func TestMustParse(t *testing.T) {
	same(t, "the set", MustParse("1,3-5"), Of(1, 3, 4, 5))
	defer func() {
		if recover() == nil {
			t.Error("MustParse of a text that is not canonical: got no panic, want one")
		}
	}()
	MustParse("5,1")
}

// oddTexts are read differently by the parsers, or are near to such a text.
var oddTexts = []string{
	"", "0,1-3,5,7-10", "1,3-5,7", "0,3,4", "1-5,7", // canonical
	"3-4", "1,2,3", "1-3,4-6", "5,1", "2,2", "1-5,3", "9-3", "1-1", "5,4-3", "5-99,1", "0,2-4,3,9",
	"+5", "007", "+007", "+01-+03,004", "+1,003-4", strings.Repeat("0", 30) + "7", "-5", "-0", "+-5", "0,1-", "0,,1", ",", "0, 5",
	"0,\"\n\xff", "1_0", "x--", "1-2-3", "0,9,x", "9-x", "5,3-9", "1,9,x", "1,8-,3", "1,3-5,", "x,1,,3- 4,5-,-6,7",
	"9223372036854775807", "9223372036854775808", "1,9223372036854775808,3", "1,9223372036854775807,3", "1,3-9223372036854775808",
}

// slowOrdered and slowDamaged say how each text is read, whatever the completions.
func TestParsers_oddTexts(t *testing.T) {
	for _, text := range oddTexts {
		for completions := int32(-3); completions < 13; completions++ {
			checkParsers(t, text, completions)
		}
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
			var refused *SyntaxError
			if _, err := ParseOrdered(tt.text, 10); !errors.As(err, &refused) || refused.Reason != tt.server {
				t.Errorf("%s: ParseOrdered: got %v, want %s", tt.lesson, err, tt.server)
			}
			got, damage := ParseDamaged(tt.text, 10)
			reads(t, tt.lesson+": ParseDamaged", got, tt.damaged)
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
		if !errors.As(err, &fault) || fault.Reason != wantErr || !strings.HasPrefix(text[fault.Offset:], fault.Fragment) {
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
