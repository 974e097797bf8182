package main

import "strings"

// The rules, all of them data. A why completes what a finding says.

// mainModule is the path of the main module.
const mainModule = "github.com/jobfate/jobfate"

// A layer is a folder of the main module and what its non-test files may import besides the
// standard library: folders, and names of groups. A folder that ends in /... stands for
// everything below it as well. The first row that fits a package holds for it.
type layer struct{ dir, may, why string }

// groups are imports with a name. Leaves are what a decision is composed of and adopters may
// use alone, inner what it is composed of besides.
var groups = map[string]string{
	"k8s":    "k8s.io/api/... k8s.io/apimachinery/...",
	"gocmp":  "github.com/google/go-cmp/...",
	"rapid":  "pgregory.net/rapid/...",
	"yaml":   "go.yaml.in/yaml/... sigs.k8s.io/yaml/...",
	"leaves": "indexset backoff failurepolicy tracking jobstatus",
	"inner":  "internal/sidecar internal/keys internal/lifecycle internal/owner internal/census",
	"every":  "validation leaves",
}

var layers = []layer{
	{"indexset", "", "it is a set of numbers and knows no Kubernetes"},
	{"internal/sidecar", "k8s", "it reads single pods, for what decides"},
	{"backoff", "k8s internal/sidecar", "it is at the bottom, beside failurepolicy"},
	{"failurepolicy", "k8s", "it is at the bottom, beside backoff"},
	{"internal/keys", "k8s", "it reads and writes what is on single pods"},
	{"internal/lifecycle", "k8s indexset backoff", "it decides ends from numbers and knows no pods"},
	{"internal/owner", "k8s internal/keys internal/lifecycle", "it compares a pod with its Job"},
	{"internal/census", "k8s indexset backoff failurepolicy internal/keys internal/owner", "it reads the pods of a Job and decides nothing about their number"},
	{"tracking", "k8s indexset failurepolicy internal/keys internal/census internal/lifecycle", "it is the front door of internal/census"},
	{"jobstatus", "k8s indexset backoff tracking internal/keys internal/census internal/lifecycle", "it reads statuses, and pods for the demand alone"},
	{"validation", "k8s indexset failurepolicy", "it stands beside the leaves, under no root"},
	{"internal/decide", "k8s inner leaves", "it composes the leaves and nothing else"},
	{"internal/machine", "k8s internal/decide internal/keys internal/owner backoff jobstatus tracking", "it carries decisions out, and knows no client"},
	{"internal/inside", "internal/decide internal/machine", "it opens the types of the root, and cannot import it"},
	{".", "k8s internal/decide internal/machine internal/inside backoff failurepolicy tracking", "the root is the front door of internal/decide and internal/machine"},
	{"explain", "k8s . internal/decide internal/inside internal/sidecar internal/keys internal/census indexset backoff failurepolicy jobstatus validation", "it reads decisions"},
	{"jobtest/...", "k8s gocmp rapid . explain internal/decide internal/machine internal/inside internal/slowpath jobtest/... every", "it is a test kit: its caller is the Machine itself, which it copies and breaks"},
	{"internal/simulation", "k8s . explain jobtest/cluster internal/inside internal/keys internal/owner leaves", "it plays decisions on the simulated cluster, which needs no test helper"},
	{"internal/parallel", "", "it knows of nothing that is done"},
	{"internal/textfile", "", "it knows nothing of what a text says"},
	{"internal/kubefile", "k8s yaml failurepolicy internal/parallel internal/textfile", "it reads files with the parsers of kubectl"},
	{"internal/slowpath", "k8s internal/decide internal/census internal/lifecycle backoff", "it compares decisions, and makes none"},
	{"internal/decidetest", "k8s rapid . explain internal/decide internal/inside failurepolicy tracking jobtest/...", "it is for tests, of the root as well"},
	{"internal/cli", "k8s yaml . explain internal/inside internal/keys internal/kubefile internal/simulation indexset failurepolicy tracking jobstatus validation", "it prints what others read and decide"},
	{"internal/vectors", "k8s . internal/machine internal/inside internal/keys internal/lifecycle indexset backoff failurepolicy jobstatus tracking validation", "it runs cases through the Machine and single functions, for tests of several modules"},
	{"internal/podtest", "k8s gocmp", "it makes pods for tests of the packages that read them"},
	{"internal/...", "k8s internal/... every", "internal packages serve the commands"},
	{"cmd/...", "internal/cli", "a main package only runs internal/cli"},
	{"examples/...", "k8s . explain every", "an example shows what a caller can do"},
}

// dependencies are the direct requirements of the main module, these and no others. Which
// package may use which is for the layers to say; tests may use all.
const dependencies = "k8s.io/api k8s.io/apimachinery github.com/google/go-cmp pgregory.net/rapid sigs.k8s.io/yaml go.yaml.in/yaml/v3"

// bannedImports may not be imported by what decides, nor what begins with their paths.
var bannedImports = map[string]string{
	"context":                              "a decision does not wait and is not cancelled",
	"crypto/rand":                          "the same snapshot gives the same decision",
	"io/fs":                                "a decision does no I/O",
	"io/ioutil":                            "a decision does no I/O",
	"log":                                  "a decision explains itself in its result",
	"math/rand":                            "the same snapshot gives the same decision",
	"net":                                  "a decision does no I/O",
	"os":                                   "a decision knows nothing of the machine",
	"runtime":                              "a decision knows nothing of the machine",
	"sync":                                 "nothing is shared",
	"syscall":                              "a decision knows nothing of the machine",
	"unsafe":                               "no input may break memory",
	"k8s.io/klog":                          "a decision explains itself in its result",
	"k8s.io/apimachinery/pkg/util/clock":   "the time is an input",
	"k8s.io/apimachinery/pkg/util/rand":    "the same snapshot gives the same decision",
	"k8s.io/apimachinery/pkg/util/runtime": "a decision does not log or recover",
	"k8s.io/apimachinery/pkg/util/uuid":    "the same snapshot gives the same decision",
	"k8s.io/apimachinery/pkg/util/wait":    "a decision does not wait",
	"k8s.io/apimachinery/pkg/watch":        "a decision does no I/O",
}

// bannedNames may not be used by what decides, though their packages may.
var bannedNames = []struct{ path, names, why string }{
	{"time", "Now|Since|Until", "the time is an input"},
	{"time", "Sleep|After|AfterFunc|Tick|NewTicker|NewTimer", "a decision does not wait"},
	{"time", "Local", "a decision knows nothing of the machine"},
	{"k8s.io/apimachinery/pkg/apis/meta/v1", "Now|NowMicro", "the time is an input"},
	{"fmt", "Print|Printf|Println|Scan|Scanf|Scanln", "a decision does no I/O"},
}

// mutators are functions that change what their first argument refers to.
var mutators = strings.Fields(`append copy clear delete
	slices.Sort slices.SortFunc slices.SortStableFunc slices.Reverse slices.Compact slices.CompactFunc slices.Delete
	slices.DeleteFunc slices.Insert slices.Replace maps.Copy maps.DeleteFunc maps.Insert
	sort.Slice sort.SliceStable sort.Sort sort.Stable sort.Ints sort.Strings`)
