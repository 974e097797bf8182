package ordered_test

import (
	"fmt"
	"testing"

	"github.com/jobfate/jobfate/indexset/ordered"
)

func ExampleRead() {
	intervals, _ := ordered.Read("0,2-4", 5)
	_, fault := ordered.Read("0,2-5", 5)
	fmt.Println(intervals, fault.Reason)
	// Output: [{0 0} {2 4}] too large index: "5"
}

// The oracle in package indexset reads random lists.
func TestRead(t *testing.T) {
	for list, want := range map[string]string{
		"":            "[]",
		"0,2-4,5,007": "[{0 0} {2 4} {5 5} {7 7}]",
		"+1,003-9":    "[{1 1} {3 9}]",
		"1-2-3":       `"1-2-3" at 0: the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`,
		"0,,1":        `"" at 2: cannot convert string to integer for index: ""`,
		"0,-5":        `"-5" at 2: cannot convert string to integer for index: ""`,
		"0,5-":        `"5-" at 2: cannot convert string to integer for index: ""`,
		"x-y":         `"x-y" at 0: cannot convert string to integer for index: "x"`,
		"0,10,x":      `"10" at 2: too large index: "10"`,
		"8-10":        `"8-10" at 0: too large index: "10"`,
		"3,5,5":       `"5" at 4: non-increasing order, previous: 5, current: 5`,
		"5,4-4":       `"4-4" at 2: non-increasing order, previous: 4, current: 4`,
		"5,9-7":       `"9-7" at 2: non-increasing order, previous: 9, current: 7`,
		"5-7,7-9":     `"7-9" at 4: non-increasing order, previous: 7, current: 7`,
	} {
		intervals, fault := ordered.Read(list, 10)
		got := fmt.Sprint(intervals)
		if fault != nil {
			got = fmt.Sprintf("%q at %d: %s", fault.Fragment, fault.Offset, fault.Reason)
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", list, got, want)
		}
	}
}
