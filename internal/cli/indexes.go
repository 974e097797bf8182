package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/jobfate/jobfate/indexset"
)

const indexesUsage = `Usage: jobfate indexes OPERATION [flags] SET ...

A set of completion indexes is written as in the status of a Job: "1,3-5,7".
The SET - is read from the standard input. Operations:

  count SET                        how many indexes it has
  contains INDEX SET               whether it has the index: true or false
  union SET ...                    the indexes of any of the sets
  minus SET SET ...                the indexes of the first and of no other
  missing --completions N SET ...  the indexes below N that are in none of the sets
  next --completions N SET ...     the least of those, one a line

For example, the indexes to run again of a Job that has failed:

  kubectl get job/NAME -o jsonpath={.status.completedIndexes} | jobfate indexes missing --completions 1000 -

A set is taken as the API server takes it: in increasing order, however it is
grouped. Sets are printed in the canonical form, an empty one as an empty line.

Exit status: 0 done, 1 a set cannot be read, 2 usage, 3 contains: it has not, or
next: there is none.

Flags:
`

// operation is what indexes can do.
type operation struct {
	name  string
	least int // arguments
	most  int
	ranks bool // it takes --completions
	run   func(q *query) (string, error)
}

var operations = []operation{
	{"count", 1, 1, false, func(q *query) (string, error) { return line(q.sets[0].Len()), nil }},
	{"contains", 2, 2, false, (*query).contains},
	{"union", 1, math.MaxInt, false, func(q *query) (string, error) { return line(union(q.sets)), nil }},
	{"minus", 2, math.MaxInt, false, func(q *query) (string, error) { return line(q.sets[0].Difference(union(q.sets[1:]))), nil }},
	{"missing", 1, math.MaxInt, true, func(q *query) (string, error) { return line(union(q.sets).Complement(q.completions)), nil }},
	{"next", 1, math.MaxInt, true, (*query).next},
}

// query is what the arguments of indexes ask for.
type query struct {
	completions int32
	count       int
	index       int32 // of contains
	sets        []indexset.Set
}

func line(v any) string { return fmt.Sprintln(v) }

func union(sets []indexset.Set) (all indexset.Set) {
	for _, s := range sets {
		all = all.Union(s)
	}
	return all
}

func (q *query) contains() (string, error) {
	if q.sets[0].Contains(q.index) {
		return line(true), nil
	}
	return line(false), answer(exitNo)
}

func (q *query) next() (string, error) {
	var b strings.Builder
	n := 0
	for index := range union(q.sets).Missing(q.completions) {
		b.WriteString(line(index))
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
	fs.Func("completions", "`N`, the completions of the Job, for missing and next", func(text string) (err error) {
		q.completions, err = number(text)
		return err
	})
	fs.IntVar(&q.count, "count", 1, "how many indexes next prints at most")
	args, err := parse(env, fs, indexesUsage, args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return Misused("name an operation: %s", operationNames())
	}
	op, err := findOperation(args[0])
	if err != nil {
		return err
	}
	args = args[1:]
	switch {
	case len(args) < op.least:
		return Misused("%s: too few arguments", op.name)
	case len(args) > op.most:
		return Misused("%s: too many arguments; put a set in quotes if it has spaces", op.name)
	case op.ranks && q.completions < 0:
		return Misused("%s: --completions is missing", op.name)
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

func findOperation(name string) (operation, error) {
	for _, op := range operations {
		if op.name == name {
			return op, nil
		}
	}
	return operation{}, Misused("there is no operation %q; want %s", name, operationNames())
}

func number(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, errors.New("want a number from 0 to 2147483647")
	}
	return int32(n), nil
}

// readSets reads the sets that the arguments hold or, for -, the standard input.
func readSets(env Environment, args []string) ([]indexset.Set, error) {
	sets := make([]indexset.Set, len(args))
	read := false
	for i, arg := range args {
		where := fmt.Sprintf("set %d", i+1)
		if arg == "-" {
			if read {
				return nil, Misused("the standard input is named twice")
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

// setError says what is wrong with the text of a set, and where.
func setError(err error) string {
	var syntax *indexset.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("at character %d, %q: %s", syntax.Offset+1, syntax.Fragment, syntax.Reason)
	}
	return err.Error()
}
