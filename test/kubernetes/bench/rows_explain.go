package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

//go:embed testdata/job.yaml
var jobYAML string

//go:embed testdata/pod.yaml
var podYAML string

// explainRows compares the command explain with a program that only decodes the same file into the same Go
// types (see decode). Each run is a process: its CPU time and its peak memory are what users wait for and need.
func explainRows(m meter, z scale, emit emit) error {
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	explain, decode := filepath.Join(folder, "jobfate"), filepath.Join(folder, "decode")
	if err := build("../../../cmd", "./jobfate", explain); err != nil {
		return err
	}
	if err := build(".", "./decode", decode); err != nil {
		return err
	}
	most := z.pods[len(z.pods)-1]
	file := filepath.Join(folder, "objects")
	sides := [][]string{{explain, "explain", "--now", "2026-01-01T12:00:00Z", file}, {decode, file}}
	for _, format := range []string{"JSON", "YAML"} {
		for _, of := range []struct{ jobs, pods int }{{1, most}, {max(2, most/50), 10}} {
			if err := writeObjects(file, format, of.jobs, of.pods); err != nil {
				return err
			}
			times, sizes := make(result, len(sides)), make(result, len(sides))
			for range min(m.runs, 3) {
				for i, args := range sides {
					took, kilobytes, err := process(args)
					if err != nil {
						return err
					}
					times[i], sizes[i] = append(times[i], took), append(sizes[i], time.Duration(kilobytes))
				}
			}
			what := fmt.Sprintf("explain, %s, %s pods", format, many(of.pods))
			if of.jobs > 1 {
				what = fmt.Sprintf("explain, %s, %d Jobs of %d pods", format, of.jobs, of.pods)
			}
			size := func(side int) string { return fmt.Sprintf("%d MB", sizes.median(side)>>10) }
			more := sizes.ratio(0, 1)
			emit(slower(times, 0, 1, what, "decoding", atMost(1.5, "≤ 1.5")),
				row{what: what + ": peak memory", ours: size(0), beside: "decoding", theirs: size(1),
					ratio: fmt.Sprintf("%.2f ×", more), samples: sizes.ratios(0, 1)}.with(atMost(1.3, "≤ 1.3"), more))
		}
	}
	return nil
}

func build(folder, program, out string) error {
	c := exec.Command("go", "build", "-o", out, program)
	c.Dir = folder
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, text)
	}
	return nil
}

// process runs a program, and returns its CPU time and its peak memory.
func process(args []string) (took time.Duration, kilobytes int64, err error) {
	c := exec.Command(args[0], args[1:]...)
	if text, err := c.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", args[0], err, text)
	}
	used := c.ProcessState
	return used.UserTime() + used.SystemTime(), used.SysUsage().(*syscall.Rusage).Maxrss, nil
}

// pulling turns a pod that runs into one whose image cannot be pulled.
var pulling = strings.NewReplacer("phase: Running", "phase: Pending", "started: true", "started: false",
	"running:\n        startedAt: \"2026-01-01T11:00:05Z\"",
	"waiting:\n        message: 'Back-off pulling image \"registry.example/train:v7\"'\n"+
		"        reason: ImagePullBackOff")

// writeObjects writes a List of Jobs and a List of their pods as kubectl prints them. One pod of twenty cannot pull
// its image.
func writeObjects(file, format string, jobs, pods int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	job, pod, stuck := itemOf(format, jobYAML), itemOf(format, podYAML), itemOf(format, pulling.Replace(podYAML))
	before, between, after := "apiVersion: v1\nitems:", "\n", "\nkind: List\nmetadata:\n  resourceVersion: \"\"\n"
	if format == "JSON" {
		before, between, after = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [", ",\n",
			"\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n"
	}
	w := bufio.NewWriter(f)
	list := func(n int, item func(i int) (string, []string)) {
		fmt.Fprint(w, before)
		for i := range n {
			text, names := item(i)
			if i == 0 {
				w.WriteByte(10)
			} else {
				fmt.Fprint(w, between)
			}
			strings.NewReplacer(names...).WriteString(w, text)
		}
		fmt.Fprint(w, after)
	}
	number := func(i int) string { return fmt.Sprintf("%012x", i) }
	list(jobs, func(i int) (string, []string) {
		return job, []string{"JOB", number(i), `"COUNT"`, fmt.Sprint(pods), "COUNT", fmt.Sprint(pods)}
	})
	fmt.Fprintln(w, "---")
	list(jobs*pods, func(i int) (string, []string) {
		text := pod
		if i%20 == 0 {
			text = stuck
		}
		return text, []string{"JOB", number(i / pods), "INDEX", fmt.Sprint(i % pods)}
	})
	return w.Flush()
}

// itemOf returns an object as an item of a List.
func itemOf(format, object string) string {
	if format == "YAML" {
		return "- " + strings.ReplaceAll(strings.TrimSpace(object), "\n", "\n  ")
	}
	var out bytes.Buffer
	text, err := yaml.YAMLToJSON([]byte(object))
	if err == nil {
		err = json.Indent(&out, text, "        ", "    ")
	}
	if err != nil {
		panic(err) // the objects are constants
	}
	return "        " + out.String()
}
