package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// newFlags returns an empty set of flags. The caller prints its errors.
func newFlags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// parse parses the arguments of a command and returns those that are not flags. If help is
// requested, it prints the usage.
func parse(env Environment, fs *flag.FlagSet, usage string, args []string) ([]string, error) {
	if env.inspect != nil {
		env.inspect(fs)
		return nil, flag.ErrHelp
	}
	rest, err := parseInterleaved(fs, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, errors.Join(err, env.print(usage+defaults(fs)))
	case err != nil:
		var names []string
		fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
		_, name, unknown := strings.Cut(err.Error(), "not defined: -")
		if unknown {
			err = fmt.Errorf("%w%s", err, didYouMean(name, names))
		}
		return nil, usageError{err}
	}
	return rest, nil
}

// parseInterleaved parses flags before, between and after files, as kubectl does. It returns
// the files.
func parseInterleaved(fs *flag.FlagSet, args []string) ([]string, error) {
	var files []string
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		rest := fs.Args()
		if len(rest) == 0 {
			return files, nil
		}
		if before := len(args) - len(rest); before > 0 && args[before-1] == "--" {
			return append(files, rest...), nil
		}
		files, args = append(files, rest[0]), rest[1:]
	}
}

func defaults(fs *flag.FlagSet) string {
	var b strings.Builder
	fs.SetOutput(&b)
	fs.PrintDefaults()
	fs.SetOutput(io.Discard)
	return b.String()
}

// oneOf adds a flag that takes one of the values. The first value is the default.
func oneOf(fs *flag.FlagSet, p *string, name, usage string, values ...string) {
	*p = values[0]
	fs.Var(choice{p, values}, name, usage)
}

// choice is the value of a flag of oneOf.
type choice struct {
	*string
	values []string
}

// String returns an empty string: the usage says which value is the default.
func (choice) String() string { return "" }

// Values returns the values that the flag takes.
func (c choice) Values() []string { return c.values }

func (c choice) Set(text string) error {
	if !slices.Contains(c.values, text) {
		return errors.New("want " + alternatives(c.values))
	}
	*c.string = text
	return nil
}

func alternatives(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// timeFormats lists the accepted formats of a time. A time without a zone is local.
var timeFormats = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
	"2006-01-02 15:04", time.DateOnly}

// parseTime parses a time, which may be relative to now. A relative time is truncated to
// seconds.
func parseTime(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && (text[0] == '-' || text[0] == '+') {
		return now.Add(d).Truncate(time.Second), nil
	}
	for _, layout := range timeFormats {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("want a time, as in 2023-08-21T10:00:00Z or 2023-08-21 10:00, or -10m")
}

// nowFlag adds the flag that sets the present of a command.
func nowFlag(fs *flag.FlagSet, clock func() time.Time, what string, set func(time.Time)) {
	fs.Func("now", "the `time` of "+what+", as in 2023-08-21T10:00:00Z, 2023-08-21T10:00:00 (local time)\nor "+
		"-10m (ten minutes ago); by default, the present", func(text string) error {
		at, err := parseTime(text, clock())
		set(at)
		return err
	})
}
