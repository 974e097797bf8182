// Package alerts tests the alerts of the controller on metrics that it serves in stories: each fires
// in its story, and none in a healthy one.
package alerts

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

var api *server.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m, &api, 8, nil)) }

// samples is how often the metrics of a story are read. A second between two of them stands for a
// minute: the alerts compare shares and durations, which do not depend on it.
const samples = 45

var stories = []struct {
	alert   string // empty if none fires
	options server.Options
	fault   *proxy.Rule
	quota   bool
	jobs    int // the number of Jobs at the start
}{
	{},
	{alert: "JobfateBehind", options: server.Options{Workers: 1, QPS: 2, Burst: 1}, jobs: 60},
	{alert: "JobfateErrors", fault: &proxy.Rule{Call: proxy.Call{Verb: "patch", Resource: "jobs/status"}, Probability: 0.7, Do: proxy.Internal}},
	{alert: "JobfateFinalizerStays", fault: &proxy.Rule{Call: proxy.Call{Verb: "patch", Resource: "pods"}, Probability: 1, Do: proxy.Internal}},
	{alert: "JobfateCannotCreatePods", quota: true},
}

func TestAlerts(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Fatal("promtool is missing: apt-get install prometheus")
	}
	rules := readRules(t)
	for _, s := range stories {
		name := cmp.Or(s.alert, "Healthy")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			low := strings.ToLower(name)
			managedBy := "jobfate.dev/" + low
			w := world.New(t, api, world.Side{Controller: &server.Controller{Process: &server.Process{Name: low}}, ManagedBy: &managedBy},
				kubelet.Always(kubelet.Succeed()))
			s.options.Name, s.options.Metrics, s.options.Namespaces = low, true, []string{w.Namespace}
			s.options.Args = []string{"--managed-by=" + managedBy}
			if s.fault != nil {
				p := world.Proxy(t, api)
				p.Add(*s.fault)
				s.options.Via = p.Config
			}
			c := world.Run(t, api.Jobfate, s.options)
			if s.quota {
				w.Quota(0)
			}
			run := func(n int) {
				w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("job-", n)}})
			}
			for n := range s.jobs {
				run(n)
			}
			recorded := series{}
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for at := range samples {
				if at%6 == 0 {
					run(s.jobs + at)
				}
				all, err := c.Metrics(t.Context())
				w.Must(err)
				recorded.add(at, all)
				<-tick.C
			}
			recorded.check(t, rules, s.alert)
		})
	}
}

// readRules returns the alerts in the format of Prometheus, without the custom resource.
func readRules(t *testing.T) []byte {
	t.Helper()
	manifest := Must(os.ReadFile("../../../../controller/jobfate-controller/deploy/alerts.yaml"))
	var resource struct {
		Spec map[string]any `json:"spec"`
	}
	world.Must(t, yaml.Unmarshal(manifest, &resource))
	rules := Must(yaml.Marshal(resource.Spec))
	for _, s := range stories {
		if !strings.Contains(string(rules), "alert: "+s.alert) {
			t.Errorf("there is no alert %s", s.alert)
		}
	}
	if n := strings.Count(string(rules), "alert: "); n != len(stories)-1 {
		t.Errorf("there are %d alerts and %d stories", n, len(stories)-1)
	}
	return rules
}

// series are the values of metrics, in the notation of promtool, by name and labels.
type series map[string][]string

func (s series) add(at int, all map[string]float64) {
	for name, value := range all {
		if !strings.HasPrefix(name, "job_controller_") && !strings.HasPrefix(name, "workqueue_") {
			continue
		}
		for len(s[name]) < at {
			s[name] = append(s[name], "_") // the metric did not exist yet
		}
		s[name] = append(s[name], fmt.Sprint(value))
	}
}

// check lets promtool evaluate the alerts. Only the wanted one has fired at some time; with none
// wanted, no alert has.
func (s series) check(t *testing.T, rules []byte, alert string) {
	t.Helper()
	type sample struct {
		Labels string `json:"labels"`
		Value  int    `json:"value"`
	}
	test := map[string]any{"expr": `max_over_time(ALERTS{alertstate="firing"}[2h])`, "eval_time": fmt.Sprint(samples-1, "m")}
	if alert != "" {
		test["expr"] = `count by (alertname) (max_over_time(ALERTS{alertstate="firing",alertname="` + alert + `"}[2h]))`
		test["exp_samples"] = []sample{{`{alertname="` + alert + `"}`, 1}}
	}
	var input []map[string]string
	for name, values := range s {
		input = append(input, map[string]string{"series": name, "values": strings.Join(values, " ")})
	}
	folder := t.TempDir()
	file := Must(yaml.Marshal(map[string]any{
		"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m",
		"tests": []any{map[string]any{"interval": "1m", "input_series": input, "promql_expr_test": []any{test}}},
	}))
	for name, content := range map[string][]byte{"rules.yaml": rules, "test.yaml": file} {
		world.Must(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	if out, err := exec.Command("promtool", "test", "rules", filepath.Join(folder, "test.yaml")).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
		for name, values := range s {
			if strings.HasPrefix(name, "job_controller_job_syncs") || strings.HasPrefix(name, "job_controller_job_pods_c") || strings.HasPrefix(name, "job_controller_term") {
				t.Log(name, values)
			}
		}
	}
}
