package simulation

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/jobfate/jobfate/indexset"
)

// Indexes are completion indexes in a scenario: in any form that the API server
// accepts in a status, as in "0-1,7", or "all". A single index may be a number.
type Indexes string

// all stands for all indexes.
const all Indexes = "all"

// UnmarshalJSON reads a string or a number.
func (x *Indexes) UnmarshalJSON(text []byte) error {
	if n, err := strconv.ParseUint(string(text), 10, 31); err == nil {
		*x = Indexes(strconv.FormatUint(n, 10))
		return nil
	}
	if s := ""; json.Unmarshal(text, &s) == nil {
		*x = Indexes(s)
		return nil
	}
	return fmt.Errorf(`want indexes such as 3 or "0-1,7", or all`)
}

// set returns the indexes; "all" is every index that an int32 can hold.
func (x Indexes) set() (indexset.Set, error) {
	switch x {
	case "":
		return indexset.Set{}, nil
	case all:
		return indexset.Range(0, math.MaxInt32-1), nil
	}
	return indexset.ParseOrdered(string(x), math.MaxInt32)
}
