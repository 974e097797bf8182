package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// integrate runs the integration tests of the project on an API server without controllers, with three attempts for a
// spec that is in time only on a machine without other work.
func (t *tree) integrate(ctx context.Context) (results, error) {
	folder, err := os.MkdirTemp("", "jobfate-adopt-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := errors.Join(servers(ctx, folder), t.define()); err != nil {
		return nil, err
	}
	report := filepath.Join(folder, "report.json")
	cmd := exec.CommandContext(ctx, "go", "test", "-mod=mod", "-count=1", "-timeout=1h", t.integration, "-args",
		"-ginkgo.flake-attempts=3", "-ginkgo.skip="+t.chance, "-ginkgo.json-report="+report)
	cmd.Dir, cmd.Env = t.copy, append(os.Environ(), "KUBEBUILDER_ASSETS="+folder)
	_, failed := output(cmd) // also if a spec fails
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	return specs(text)
}

// define makes the definitions of the project's resources, as its Makefile does.
func (t *tree) define() error {
	if t.crds == "" {
		return nil
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).
		Run(filesys.MakeFsOnDisk(), filepath.Join(t.copy, t.crds))
	if err != nil {
		return err
	}
	text, err := resources.AsYaml()
	file := filepath.Join(t.copy, t.made)
	return errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600))
}

// servers puts links to the API server and etcd into a folder, as envtest wants them. They are built from modules.
func servers(ctx context.Context, folder string) error {
	for name, tool := range map[string]string{
		"etcd":           "go.etcd.io/etcd/server/v3",
		"kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
	} {
		out, err := goIn(ctx, "../kubernetes", "tool", "-n", tool)
		if err != nil {
			return err
		}
		if err := os.Symlink(strings.TrimSpace(string(out)), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// specs returns the result of each spec of a report of Ginkgo.
func specs(report []byte) (results, error) {
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeText, LeafNodeType, State string
		}
	}
	if err := json.Unmarshal(report, &suites); err != nil {
		return nil, err
	}
	all := results{}
	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			if s.LeafNodeType != "It" {
				continue
			}
			name := strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
			for all[name] != "" {
				name += " again"
			}
			all[name] = strings.TrimSuffix(s.State, "ed") // as go test says
		}
	}
	return all, nil
}
