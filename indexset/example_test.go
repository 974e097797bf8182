package indexset_test

import (
	"errors"
	"fmt"

	"github.com/jobfate/jobfate/indexset"
)

func Example() {
	completed := indexset.MustParse("1,3-5,7")
	completed = completed.Union(indexset.Of(6, 0))

	fmt.Println(completed)
	fmt.Println(completed.Len(), "of 10 completed; missing:", completed.Complement(10))
	// Output:
	// 0,1,3-7
	// 7 of 10 completed; missing: 2,8,9
}

func ExampleParse() {
	_, err := indexset.Parse("1,3-5,4")
	var fault *indexset.SyntaxError
	fmt.Println(errors.As(err, &fault), fault.Offset)
	fmt.Println(err)
	// Output:
	// true 6
	// indexes: fragment "4" at offset 6: indexes increase, and 5 came before
}

func ExampleParseOrdered() {
	set, err := indexset.ParseOrdered("1,2,3-4", 8)
	fmt.Println(set, err)
	_, err = indexset.ParseOrdered("5,1", 8)
	fmt.Println(err)
	_, err = indexset.ParseOrdered("1-8", 8)
	fmt.Println(err)
	// Output:
	// 1-4 <nil>
	// indexes: fragment "1" at offset 2: non-increasing order, previous: 5, current: 1
	// indexes: fragment "1-8" at offset 0: too large index: "8"
}

func ExampleParseDamaged() {
	for _, text := range []string{"1,3-5", "5,1,1-2-3,9-6", "1,6-20"} {
		set, damage := indexset.ParseDamaged(text, 10)
		if damage != nil {
			fmt.Printf("%s (%v)\n", set, damage)
			continue
		}
		fmt.Println(set)
	}
	// Output:
	// 1,3-5
	// 1,2,5 (indexes: fragment "1" at offset 2: indexes increase, and 5 came before)
	// 1,6-9 (indexes: fragment "6-20" at offset 2: completions are 10)
}

// The indexes that have neither completed nor back off, lazily.
func ExampleSet_Complement() {
	done, backingOff := indexset.MustParse("0-2"), indexset.Of(4)
	for i := range done.Complement(1_000_000_000).All() {
		if backingOff.Contains(i) {
			continue
		}
		if i > 6 {
			break
		}
		fmt.Println(i)
	}
	// Output:
	// 3
	// 5
	// 6
}

func ExampleBuilder() {
	var b indexset.Builder
	for _, i := range []int32{7, 3, 4} {
		b.Add(i)
	}
	b.AddRange(5, 6)
	fmt.Println(b.Set())
	// Output: 3-7
}
