package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jobfate/jobfate/indexset"
)

const indexesUsage = `Usage: jobfate indexes OPERATION [flags] SET ...

Write a set of completion indexes as in the status of a Job: "1,3-5,7". The SET - is
read from the standard input. Operations:

  count SET                        the number of indexes
  contains INDEX SET               whether the set contains the index: true or false
  union SET ...                    the indexes in any of the sets
  minus SET SET ...                the indexes in the first set and in no other
  missing --completions N SET ...  the indexes below N in none of the sets
  next --completions N SET ...     the lowest of these, one a line

For example, to list the indexes of a failed Job that must run again:

  kubectl get job/NAME -o jsonpath={.status.completedIndexes} | jobfate indexes missing --completions 1000 -

A set is accepted if the API server accepts it: the indexes must be in increasing order.
Sets are printed in the canonical form, an empty set as an empty line.

Exit status: 0 success, 1 a set cannot be read, 2 wrong usage, 3 contains: the set does
not contain the index, or next: there is no next index.

Flags:
`

// operation is an operation of the command indexes.
type operation struct {
	name  string
	least int // arguments
	most  int
	ranks bool // requires --completions
	run   func(q *query) (string, error)
}

var operations = []operation{
	{"count", 1, 1, false, func(q *query) (string, error) { return fmt.Sprintln(q.sets[0].Len()), nil }},
	{"contains", 2, 2, false, (*query).contains},
	{"union", 1, math.MaxInt, false, func(q *query) (string, error) { return fmt.Sprintln(union(q.sets)), nil }},
	{"minus", 2, math.MaxInt, false, func(q *query) (string, error) {
		return fmt.Sprintln(q.sets[0].Difference(union(q.sets[1:]))), nil
	}},
	{"missing", 1, math.MaxInt, true, func(q *query) (string, error) {
		return fmt.Sprintln(union(q.sets).Complement(q.completions)), nil
	}},
	{"next", 1, math.MaxInt, true, (*query).next},
}

// query holds the arguments of the command indexes.
type query struct {
	completions int32
	count       int
	index       int32 // of contains
	sets        []indexset.Set
}

func union(sets []indexset.Set) (all indexset.Set) {
	for _, s := range sets {
		all = all.Union(s)
	}
	return all
}

func (q *query) contains() (string, error) {
	if q.sets[0].Contains(q.index) {
		return fmt.Sprintln(true), nil
	}
	return fmt.Sprintln(false), answer(exitNo)
}

func (q *query) next() (string, error) {
	var b strings.Builder
	n := 0
	for index := range union(q.sets).Complement(q.completions).All() {
		fmt.Fprintln(&b, index)
		if n++; n == q.count {
			break
		}
	}
	if n == 0 {
		return "", answer(exitNo)
	}
	return b.String(), nil
}

func indexes(env Environment, args []string) error {
	q := &query{completions: -1}
	fs := newFlags("indexes")
	fs.Func("completions", "`N`, the completions of the Job; required by missing and next",
		func(text string) (err error) {
			q.completions, err = number(text)
			return err
		})
	fs.IntVar(&q.count, "count", 1, "the maximum number of indexes that next prints")
	args, err := parse(env, fs, indexesUsage, args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return Misused("missing operation; want %s", operationNames())
	}
	at := slices.IndexFunc(operations, func(op operation) bool { return op.name == args[0] })
	if at < 0 {
		return Misused("unknown operation %q; want %s", args[0], operationNames())
	}
	op, args := operations[at], args[1:]
	switch {
	case len(args) < op.least:
		return Misused("%s: too few arguments", op.name)
	case len(args) > op.most:
		return Misused("%s: too many arguments; put a set in quotes if it has spaces", op.name)
	case op.ranks && q.completions < 0:
		return Misused("%s needs --completions", op.name)
	case q.count < 1:
		return Misused("--count %d: want 1 or more", q.count)
	}
	if op.name == "contains" {
		if q.index, err = number(args[0]); err != nil {
			return Misused("contains: %q: %w", args[0], err)
		}
		args = args[1:]
	}
	if q.sets, err = readSets(env, args); err != nil {
		return err
	}
	out, err := op.run(q)
	return errors.Join(err, env.print(out))
}

func operationNames() string {
	return alternatives(mapped(operations, func(op operation) string { return op.name }))
}

func number(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, errors.New("want a number from 0 to 2147483647")
	}
	return int32(n), nil
}

// readSets parses the sets in the arguments; - is the standard input.
func readSets(env Environment, args []string) ([]indexset.Set, error) {
	sets := make([]indexset.Set, len(args))
	read := false
	for i, arg := range args {
		where := fmt.Sprintf("set %d", i+1)
		if arg == "-" {
			if read {
				return nil, Misused("standard input (-) is given twice")
			}
			read, where = true, standardInput
			text, err := io.ReadAll(env.Stdin)
			if err != nil {
				return nil, err
			}
			arg = string(text)
		}
		var err error
		if sets[i], err = indexset.ParseOrdered(strings.TrimSpace(arg), math.MaxInt32); err != nil {
			return nil, fmt.Errorf("%s: %s", where, setError(err))
		}
	}
	return sets, nil
}

// setError says what is wrong in the text of a set, and where.
func setError(err error) string {
	if syntax, found := errors.AsType[*indexset.SyntaxError](err); found {
		return fmt.Sprintf("at character %d, %q: %s", syntax.Offset+1, syntax.Fragment, syntax.Reason)
	}
	return err.Error()
}
