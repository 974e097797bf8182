package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/kubefile"
)

const explainUsage = `Usage: jobfate explain [flags] [file ...]

Reads a Job and its pods and says what the Job controller does next, and why.
The files are what kubectl prints with -o yaml or -o json, in any order:

  (kubectl get job/NAME -o yaml; echo ---; kubectl get pods -l job-name=NAME -o yaml) | jobfate explain

Without a file, and for the file -, it reads the standard input.

Flags:
`

// standardInput is how the standard input is called in messages.
const standardInput = "standard input"

// request is what the arguments of explain ask for.
type request struct {
	output    string
	now       time.Time
	managedBy string // empty: whoever manages the Job
	files     []string
}

func explain(env environment, args []string) error {
	req, err := parseExplain(env, args)
	if err != nil {
		return err
	}
	in, err := readFiles(env, req.files)
	if err != nil {
		return err
	}
	r, err := decide(in, req)
	if err != nil {
		return err
	}
	if req.output == "json" {
		return env.print(r.json())
	}
	return env.print(r.text())
}

func parseExplain(env environment, args []string) (request, error) {
	req := request{now: env.now.Truncate(time.Second)}
	fs := flag.NewFlagSet("explain", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // the caller tells of errors
	fs.StringVar(&req.output, "o", "text", "the `format` of the output: text or json")
	fs.StringVar(&req.managedBy, "managed-by", "", "decide as the controller of this `name` in spec.managedBy;\nby default, as the one that the Job names")
	fs.Func("now", "the `time` of the decision, as in 2023-08-21T10:00:00Z; by default, the present", func(text string) (err error) {
		req.now, err = time.Parse(time.RFC3339, text)
		return err
	})
	files, err := parseInterleaved(fs, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return req, errors.Join(err, env.print(explainUsage+defaults(fs)))
	case err != nil:
		return req, usageError{err}
	case req.output != "text" && req.output != "json":
		return req, misused("-o %s: want text or json", req.output)
	}
	req.files = files
	if len(files) == 0 {
		req.files = []string{"-"}
	}
	return req, nil
}

// parseInterleaved parses flags that stand before, between and after files, as
// users of kubectl write them. It returns the files.
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

func readFiles(env environment, names []string) (*kubefile.Input, error) {
	sources := make([]kubefile.Source, len(names))
	read := false
	for i, name := range names {
		if name == "-" {
			if read {
				return nil, misused("the standard input is named twice")
			}
			read = true
			sources[i] = kubefile.Source{Name: standardInput, Reader: env.stdin}
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		sources[i] = kubefile.Source{Name: name, Reader: file}
	}
	return kubefile.Read(sources...)
}

// decide decides on the input and reports the decision. What the controller
// remembers of failures is rebuilt from the pods: a controller that has seen
// others, which are gone, may wait longer.
func decide(in *kubefile.Input, req request) (*report, error) {
	manager := req.managedBy
	if manager == "" {
		manager = managerOf(in.Job)
	}
	opts := []jobfate.Option{jobfate.ManagedBy(manager)}
	if in.RuleNames != nil {
		opts = append(opts, jobfate.RuleNames(in.RuleNames...))
	}
	snapshot := jobfate.Snapshot{Job: in.Job, Pods: in.Pods, Now: req.now}
	var err error
	if snapshot.Backoff, err = jobfate.RebuildBackoff(snapshot, opts...); err != nil {
		return nil, locate(err, in)
	}
	d, err := jobfate.Decide(snapshot, opts...)
	if err != nil {
		return nil, locate(err, in)
	}
	return newReport(in, req.now, d), nil
}

// managerOf returns the name of the controller that manages the Job when it is
// not the Job controller.
func managerOf(job *batchv1.Job) string {
	if name := job.Spec.ManagedBy; name != nil && *name != batchv1.JobControllerName {
		return *name
	}
	return ""
}
