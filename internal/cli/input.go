package cli

import (
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobfate/jobfate/internal/kubefile"
)

// standardInput is how the standard input is called in messages.
const standardInput = "standard input"

// defaultInput is how many bytes are read at most.
var defaultInput = resource.MustParse("1Gi")

// sizeLimit is the value of --max-input, a quantity as Kubernetes writes them.
type sizeLimit struct{ resource.Quantity }

// Set takes a quantity of one byte or more.
func (l *sizeLimit) Set(text string) error {
	quantity, err := resource.ParseQuantity(text)
	if err != nil || quantity.Value() < 1 {
		return fmt.Errorf("want a quantity, as in %s", defaultInput.String())
	}
	l.Quantity = quantity
	return nil
}

// inputLimit is the number of bytes that all files together may still hold.
type inputLimit struct {
	limit sizeLimit
	left  int64
}

func newInputLimit(limit sizeLimit) *inputLimit {
	if limit.IsZero() {
		limit.Quantity = defaultInput
	}
	return &inputLimit{limit: limit, left: limit.Value()}
}

// limitedReader reads until the limit is exceeded.
type limitedReader struct {
	io.Reader
	*inputLimit
}

func (r limitedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p[:min(int64(len(p)), r.left+1)])
	if r.left -= int64(n); r.left < 0 {
		return 0, fmt.Errorf("the input has more than %s; --max-input raises the limit", r.limit.String())
	}
	return n, err
}

// limitFlag adds the flag that limits the input.
func (env *Environment) limitFlag(fs *flag.FlagSet) {
	fs.Var(&env.maxInput, "max-input", "how many `bytes` are read at most, as in 500Mi (default 1Gi)")
}

// readFiles reads Jobs and their pods, from the standard input when no file is named.
func readFiles(env Environment, names []string) (in Objects, err error) {
	err = withFiles(env, orStandardInput(names), func(sources []kubefile.Source) (err error) {
		in.Input, err = kubefile.Read(sources...)
		return err
	})
	return in, err
}

// ReadManifests reads the Jobs of files, and the templates of CronJobs.
func ReadManifests(env Environment, names ...string) (in *kubefile.Input, err error) {
	err = withFiles(env, names, func(sources []kubefile.Source) (err error) {
		in, err = kubefile.ReadManifests(sources...)
		return err
	})
	return in, err
}

func orStandardInput(names []string) []string {
	if len(names) == 0 {
		return []string{"-"}
	}
	return names
}

// withFiles opens the files, the standard input for -, and calls f with them.
// While much is read, a terminal shows how far it is.
func withFiles(env Environment, names []string, f func([]kubefile.Source) error) error {
	sources := make([]kubefile.Source, len(names))
	limit, p := newInputLimit(env.maxInput), newProgress(env)
	defer p.clear()
	read := false
	for i, name := range names {
		s := &sources[i]
		s.Name = name
		s.Progress = func(kind string, done, total int) { p.show("%s", reading(kind, done, total)) }
		if name == "-" {
			if read {
				return Misused("the standard input is named twice")
			}
			if env.Typed {
				fmt.Fprintln(env.Stderr, env.Name+": reading the standard input, which Ctrl-D ends")
			}
			read = true
			s.Name, s.Reader = standardInput, limitedReader{env.Stdin, limit}
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		s.Reader = limitedReader{file, limit}
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			s.Size = int(min(info.Size(), limit.left))
		}
	}
	return f(sources)
}

// largeYAML is the size from which on the time is worth a hint.
const largeYAML = 10 << 20

func reading(kind string, done, total int) string {
	text := fmt.Sprintf("%d of %d MB read", done>>20, total>>20)
	if kind == "YAML" && total > largeYAML {
		text += "; kubectl -o json would be faster"
	}
	return text
}
