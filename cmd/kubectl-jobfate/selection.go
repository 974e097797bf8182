package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobfate/jobfate/cmd/internal/cli"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
)

// selection selects the Jobs of a command.
type selection struct {
	targets  []target // none: all Jobs that the other fields select
	name     string   // that of the only target, if it is a Job
	cron     string   // the same, if it is a CronJob
	selector string
	all      bool // all namespaces
}

// target is a Job, or an object that owns Jobs.
type target struct{ kind, name string }

// jobSetName is the label of the Jobs of a JobSet.
const jobSetName = "jobset.sigs.k8s.io/jobset-name"

// kinds lists the kinds of targets by the names that kubectl knows. The JobSet of a TrainJob has its name.
var kinds = map[string]string{
	"job": "Job", "jobs": "Job", "job.batch": "Job", "jobs.batch": "Job",
	"cronjob": "CronJob", "cronjobs": "CronJob", "cj": "CronJob", "cronjob.batch": "CronJob",
	"cronjobs.batch": "CronJob",
	"jobset":         "JobSet", "jobsets": "JobSet", "js": "JobSet", "jobset.jobset.x-k8s.io": "JobSet",
	"jobsets.jobset.x-k8s.io": "JobSet",
	"trainjob":                "JobSet", "trainjobs": "JobSet", "trainjobs.trainer.kubeflow.org": "JobSet",
}

func (s *selection) addFlags(fs *pflag.FlagSet) {
	fs.StringVarP(&s.selector, "selector", "l", "", "select Jobs by labels, with a `selector` as for kubectl get")
	fs.BoolVarP(&s.all, "all-namespaces", "A", false, "select the Jobs of all namespaces")
}

// named sets the targets from the arguments of a command: NAME or KIND/NAME.
func (s *selection) named(args []string) error {
	for _, arg := range args {
		kind, name, found := strings.Cut(arg, "/")
		if !found {
			kind, name = "job", arg
		}
		t := target{kinds[strings.ToLower(kind)], name}
		if t.kind == "" {
			return cli.Misused("%s is not a Job; want NAME, or a name after job/, cronjob/, jobset/ or trainjob/", arg)
		}
		if name == "" || s.selector != "" || s.all {
			return cli.Misused("want names of Jobs, or --selector and --all-namespaces without a name")
		}
		s.targets = append(s.targets, t)
	}
	if len(s.targets) == 1 {
		only := map[string]string{s.targets[0].kind: s.targets[0].name}
		s.name, s.cron = only["Job"], only["CronJob"]
	}
	if _, err := labels.Parse(s.selector); err != nil {
		return cli.Misused("--selector: %v", err)
	}
	return nil
}

// one sets the name from the arguments of a command that takes at most one Job.
func (s *selection) one(args []string) error {
	if err := s.named(args); err != nil {
		return err
	}
	if len(args) > 0 && s.name == "" {
		return cli.Misused("%s is not a Job; want NAME or job/NAME", args[0])
	}
	return nil
}

// narrowed returns the selectors of the Jobs to list.
func (s *selection) narrowed() (labels, fields string) {
	if len(s.targets) != 1 {
		return s.selector, ""
	}
	switch t := s.targets[0]; t.kind {
	case "Job":
		fields = "metadata.name=" + t.name
	case "JobSet":
		labels = jobSetName + "=" + t.name
	}
	return labels, fields
}

// selects reports whether a Job that was listed is selected.
func (s *selection) selects(job *batchv1.Job) bool {
	of := cmp.Or(metav1.GetControllerOfNoCopy(job), &metav1.OwnerReference{})
	return len(s.targets) == 0 || slices.ContainsFunc(s.targets,
		func(t target) bool { return t == target{"Job", job.Name} || t == target{of.Kind, of.Name} })
}

// cronJobs reports whether CronJobs are selected, too.
func (s *selection) cronJobs() bool {
	return len(s.targets) == 0 ||
		slices.ContainsFunc(s.targets, func(t target) bool { return t.kind == "CronJob" })
}

// selectsCronJob reports whether a CronJob that was listed is selected.
func (s *selection) selectsCronJob(name string) bool {
	return len(s.targets) == 0 || slices.Contains(s.targets, target{"CronJob", name})
}

// missing returns the first name of a Job that does not exist.
func (s *selection) missing(jobs []*kubefile.Manifest) string {
	for _, t := range s.targets {
		found := slices.ContainsFunc(jobs, func(m *kubefile.Manifest) bool { return m.Job.Name == t.name })
		if t.kind == "Job" && !found {
			return t.name
		}
	}
	return ""
}
