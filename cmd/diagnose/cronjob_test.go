package diagnose_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/apirules"
	"github.com/jobfate/jobfate/cmd/internal/cases"
)

// Each input of testdata/cronjobs has its cause first. Each row of the table is the first cause of an input, and each
// code has a near miss.
func TestOfCronJob(t *testing.T) {
	all, err := cases.Inputs("testdata/cronjobs")
	must(t, err)
	shown, missed := map[string]bool{}, map[string]bool{"Scheduled": true}
	for _, in := range all {
		cron, jobs := &batchv1.CronJob{}, []*batchv1.Job{}
		g := given{}
		for _, document := range in.Documents() {
			switch kind := cases.FromYAML(document)["kind"]; kind {
			case "CronJob":
				if cron.Name != "" {
					must(t, g.add(document))
					continue
				}
				must(t, yaml.Unmarshal([]byte(document), cron))
			case "Job":
				jobs = append(jobs, &batchv1.Job{})
				must(t, yaml.Unmarshal([]byte(document), jobs[len(jobs)-1]))
			default:
				must(t, g.add(document))
			}
		}
		g.Evidence.NextRun = apirules.NextRun
		got := diagnose.OfCronJob(cron, jobs, now, g.Evidence)
		shown[in.Want] = true
		t.Run(in.Title, func(t *testing.T) { checkCauses(t, in, got.Causes) })
		for _, code := range in.Not {
			missed[code] = true
		}
	}
	for _, row := range diagnose.ListCronJob() {
		if !shown[string(row.Code)+" "+row.Attention.String()] || !missed[string(row.Code)] {
			t.Errorf("no input shows %s (%s), or none is a near miss", row.Code, row.Attention)
		}
	}
}
