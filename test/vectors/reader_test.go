package vectors_test

import (
	"os/exec"
	"testing"
)

// TestReader runs the reader in Python on all cases, and its test, in which each case is changed.
func TestReader(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("the reader of the cases needs Python 3: install the package python3")
	}
	for _, program := range []string{"reader.py", "reader_test.py"} {
		out, err := exec.Command(python, "-B", program).CombinedOutput()
		t.Logf("%s:\n%s", program, out)
		if err != nil {
			t.Errorf("%s: %v", program, err)
		}
	}
}
