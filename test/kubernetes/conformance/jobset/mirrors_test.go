package jobset

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The structs of link.go have the fields of JobSet's, in the same order.
func TestMirrors(t *testing.T) {
	ours, err := os.ReadFile("link.go")
	if n := strings.Count(string(ours), " struct {\n"); n != 4 || err != nil {
		t.Errorf("link.go declares %d structs, want 4; %v", n, err)
	}
	for name, of := range map[string]string{
		"childJobs": "controllers", "statusUpdateOpts": "controllers", "eventParams": "controllers", "jobSetWebhook": "webhooks",
	} {
		if got, want := fields(t, ".", name), fields(t, "sigs.k8s.io/jobset/pkg/"+of, name); !slices.Equal(got, want) {
			t.Errorf("%s has the fields %q, want %q", name, got, want)
		}
	}
}

// fields returns the fields of a struct, without comments.
func fields(t *testing.T, of, name string) (fields []string) {
	t.Helper()
	out, err := exec.Command("go", "doc", "-u", "-src", of, name).Output()
	_, body, found := strings.Cut(string(out), "\ntype "+name+" struct {\n")
	if err != nil || !found {
		t.Fatalf("%s of %s: %v\n%s", name, of, err, out)
	}
	body, _, _ = strings.Cut(body, "\n}\n")
	for line := range strings.Lines(body) {
		line, _, _ = strings.Cut(line, "//")
		if words := strings.Fields(line); len(words) > 0 {
			fields = append(fields, strings.Join(words, " "))
		}
	}
	return fields
}
