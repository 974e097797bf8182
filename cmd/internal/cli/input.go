package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/jobstatus"
)

// standardInput is the name of the standard input in messages.
const standardInput = "standard input"

// defaultInput is the default of --max-input.
var defaultInput = resource.MustParse("1Gi")

// sizeLimit is the value of --max-input, a Kubernetes quantity.
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

// limitedReader fails once all files together exceed the limit. Its errors do not name the file, because
// those of kubefile do.
type limitedReader struct {
	io.Reader
	limit sizeLimit
	left  *int64 // bytes of all files
}

func (r limitedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p[:min(int64(len(p)), *r.left+1)])
	if *r.left -= int64(n); *r.left < 0 {
		return 0, fmt.Errorf("the input is larger than %s; raise the limit with --max-input", r.limit.String())
	}
	if named, ok := err.(*fs.PathError); ok {
		err = named.Err
	}
	return n, err
}

// failedReader is a file that cannot be opened.
type failedReader struct{ error }

func (r failedReader) Read([]byte) (int, error) { return 0, r.error }

// parseFiles parses the arguments of a command that reads files, with the flags that name
// files and limit their size. Without files the command reads the standard input.
func (env *Environment) parseFiles(fs *flag.FlagSet, usage string, args []string) ([]string, error) {
	var named []string
	fs.Func("f", "a `file` to read, like an argument", func(name string) error {
		named = append(named, name)
		return nil
	})
	fs.BoolVar(&env.Quiet, "quiet", false, "show no progress on the standard error")
	fs.Var(&env.maxInput, "max-input", "the maximum number of `bytes` to read, as in 500Mi (default 1Gi)")
	files, err := parse(*env, fs, usage, args)
	if files = append(named, files...); len(files) == 0 {
		files = []string{"-"}
	}
	return files, err
}

// readFiles reads Jobs and their pods.
func readFiles(env Environment, names []string) (in Objects, err error) {
	err = withFiles(env, func(sources [][]kubefile.Source) (err error) {
		in.Input, err = kubefile.ReadWith(diagnose.Reads, sources[0]...)
		return err
	}, names)
	return in, err
}

// ReadManifests reads the Jobs in files, and the templates of CronJobs.
func ReadManifests(env Environment, names ...string) (in *kubefile.Input, err error) {
	err = withFiles(env, func(sources [][]kubefile.Source) (err error) {
		in, err = kubefile.ReadManifests(sources[0]...)
		return err
	}, names)
	return in, err
}

// withFiles opens groups of files, the standard input for -, and calls f with them. Long reads show their progress.
func withFiles(env Environment, f func(groups [][]kubefile.Source) error, groups ...[]string) error {
	sources := make([][]kubefile.Source, len(groups))
	limit, p := env.maxInput, newProgress(env)
	defer p.clear()
	if limit.IsZero() {
		limit.Quantity = defaultInput
	}
	left := limit.Value()
	read := false
	for i, names := range groups {
		for _, name := range withFolders(names) {
			reader, size := env.Stdin, 0
			switch {
			case name == "-" && read:
				return Misused("standard input (-) is given twice")
			case name == "-":
				read, name = true, standardInput
				if env.StdinTerminal {
					fmt.Fprintln(env.Stderr, env.Name+": reading standard input; end it with Ctrl-D")
				}
			default:
				file, err := os.Open(name)
				defer file.Close()
				reader, size = opened(file, err, left)
			}
			sources[i] = append(sources[i], kubefile.Source{Name: name, Size: size,
				Reader:   limitedReader{reader, limit, &left},
				Progress: func(kind string, done, total int) { p.show("%s", reading(kind, done, total)) }})
		}
	}
	return f(sources)
}

// opened returns what reads a file, and its size of at most most bytes, if that is known. An error of opening is like
// one of reading: it does not keep the other files from being read.
func opened(file *os.File, err error, most int64) (r io.Reader, size int) {
	if err != nil {
		return failedReader{err}, 0
	}
	switch info, err := file.Stat(); {
	case err == nil && info.IsDir():
		return failedReader{errEmptyFolder}, 0
	case err == nil && info.Mode().IsRegular():
		return file, int(min(info.Size(), most))
	}
	return file, 0
}

var errEmptyFolder = errors.New("the folder has no file *.yaml, *.yml or *.json; folders within it are not read")

// given returns the name of a file unless it is empty.
func given(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// withFolders replaces each folder by the YAML and JSON files in it, as kubectl does, unless there
// are none.
func withFolders(names []string) (out []string) {
	for _, name := range names {
		var files []string
		entries, _ := os.ReadDir(name) // of a file there are none
		for _, entry := range entries {
			switch filepath.Ext(entry.Name()) {
			case ".json", ".yaml", ".yml":
				files = append(files, filepath.Join(name, entry.Name()))
			}
		}
		if len(files) == 0 {
			files = []string{name}
		}
		out = append(out, files...)
	}
	return out
}

// largeYAML is the size above which the progress recommends JSON.
const largeYAML = 10 << 20

func reading(kind string, done, total int) string {
	text := fmt.Sprintf("%d of %d MB read", done>>20, total>>20)
	if kind == "YAML" && total > largeYAML {
		text += "; kubectl -o json would be faster"
	}
	return text
}

// readStart reads the Job with the wanted name, as the flag --job gives it; see onlyJob. The hint completes the error
// about a second Job.
func readStart(wanted, hint string, sources []kubefile.Source) (*kubefile.Manifest, *kubefile.Input, error) {
	in, err := kubefile.ReadStart(sources...)
	if err != nil {
		return nil, nil, err
	}
	name, template := strings.CutPrefix(wanted, cronPrefix)
	if wanted == "" {
		in.Jobs = onlyJob(in.Jobs)
	} else {
		in.Jobs = slices.DeleteFunc(in.Jobs, func(m *kubefile.Manifest) bool { return isCron(m) != template })
		err = choose(in, name)
	}
	if err == nil && len(in.Jobs) > 1 {
		second := in.Jobs[1].At
		err = second.Unreadable(fmt.Errorf("%s is a second Job; the first is %s%s", second, in.Jobs[0].At, hint))
	}
	if err != nil {
		return nil, nil, err
	}
	return in.Jobs[0], in, nil
}

// onlyJob chooses among the Jobs of one CronJob: the last one that has not ended, or else, of several, the template. It
// leaves out templates of which there are Jobs.
func onlyJob(all []*kubefile.Manifest) []*kubefile.Manifest {
	owner := func(m *kubefile.Manifest) types.UID {
		return cmp.Or(metav1.GetControllerOfNoCopy(m.Job), &metav1.OwnerReference{}).UID
	}
	var jobs, going, templates []*kubefile.Manifest
	for _, m := range all {
		isOwner := func(job *kubefile.Manifest) bool { return owner(job) == m.Cron.UID }
		switch {
		case isCron(m) && m.Cron.UID != "" && slices.ContainsFunc(all, isOwner):
			templates = append(templates, m)
			continue
		case jobstatus.Finished(m.Job) == nil:
			going = append(going, m)
		}
		jobs = append(jobs, m)
	}
	foreign := func(m *kubefile.Manifest) bool { return owner(m) == "" || owner(m) != owner(jobs[0]) }
	switch {
	case slices.ContainsFunc(jobs, foreign):
	case len(going) > 0:
		return []*kubefile.Manifest{slices.MaxFunc(going, func(a, b *kubefile.Manifest) int {
			return cmp.Or(a.Job.CreationTimestamp.Compare(b.Job.CreationTimestamp.Time),
				cmp.Compare(a.Job.Name, b.Job.Name))
		})}
	case len(jobs) > 1 && len(templates) == 1:
		return templates
	}
	return jobs
}
