package real

import (
	"testing"

	"k8s.io/client-go/tools/cache"
)

// slotOf panics if the controller of a release has other fields.
func TestSlotOfRefusesAnotherController(t *testing.T) {
	for name, f := range map[string]func(){
		"no such field":  func() { slotOf[int]("noSuchField") },
		"another type":   func() { slotOf[int]("kubeClient") },
		"another struct": func() { slotOf[*backoffRecord]("podBackoffStore") },
		"another field":  func() { slotOf[*struct{ other cache.Store }]("podBackoffStore") },
		"another store":  func() { slotOf[*struct{ store int }]("podBackoffStore") },
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
