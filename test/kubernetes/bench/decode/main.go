// Command decode reads Jobs and pods as the simplest program would: straight into the types of the API. The
// file is a List of Jobs, and then a List of pods, as kubectl prints them. YAML is decoded item by item,
// because the parser would need many times the memory for a whole List.
package main

import (
	"bytes"
	"fmt"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func main() {
	jobs, pods, err := decode(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "decode:", err)
		os.Exit(1)
	}
	fmt.Println(len(jobs), len(pods))
}

func decode(file string) ([]batchv1.Job, []corev1.Pod, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	first, second, _ := bytes.Cut(text, []byte("\n---\n"))
	if text[0] != '{' {
		jobs, err := items[batchv1.Job](first)
		if err != nil {
			return nil, nil, err
		}
		pods, err := items[corev1.Pod](second)
		return jobs, pods, err
	}
	var jobs batchv1.JobList
	var pods corev1.PodList
	if err := utiljson.Unmarshal(first, &jobs); err != nil {
		return nil, nil, err
	}
	err = utiljson.Unmarshal(second, &pods)
	return jobs.Items, pods.Items, err
}

// items decodes the items of a List in YAML.
func items[T any](list []byte) (all []T, err error) {
	_, rest, _ := bytes.Cut(list, []byte("\nitems:\n- "))
	rest, _, _ = bytes.Cut(rest, []byte("\nkind:"))
	for item := range bytes.SplitSeq(rest, []byte("\n- ")) {
		var next T
		if err := yaml.Unmarshal(append([]byte("  "), item...), &next); err != nil {
			return nil, err
		}
		all = append(all, next)
	}
	return all, nil
}
