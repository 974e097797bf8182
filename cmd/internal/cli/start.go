package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/jobstatus"
)

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
