package real

import (
	"reflect"
	"testing"

	"k8s.io/kubernetes/pkg/controller/job"
)

// slotOf panics if the controller of a release has other fields.
func TestSlotOfRefusesAnotherController(t *testing.T) {
	for name, f := range map[string]func(){
		"no such field":  func() { slotOf[int]("noSuchField") },
		"another type":   func() { slotOf[int]("kubeClient") },
		"another struct": func() { slotOf[*backoffRecord]("podBackoffStore") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			f()
		}()
	}
}

func TestMirrors(t *testing.T) {
	type renamed struct{ other int }
	type typed struct{ first string }
	type original struct{ first int }
	type mirror struct{ first int }
	theirs := reflect.TypeFor[original]()
	for _, tt := range []struct {
		ours reflect.Type
		want bool
	}{
		{reflect.TypeFor[mirror](), true},
		{reflect.TypeFor[renamed](), false},
		{reflect.TypeFor[typed](), false},
		{reflect.TypeFor[int](), false},
		{reflect.TypeFor[job.Controller](), false},
	} {
		if got := mirrors(tt.ours, theirs); got != tt.want {
			t.Errorf("%v for %v: got %v, want %v", tt.ours, theirs, got, tt.want)
		}
	}
}
