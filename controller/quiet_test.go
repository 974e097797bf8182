package controller

import (
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// Conflicts and objects that are gone are logged at level 1, and not as errors.
func TestQuiet(t *testing.T) {
	conflict, input := apierrors.NewConflict(pods, "job", nil), decide.ErrNotManaged
	again := `"level"=1 "msg"="Retrying" "name"="job" "because"=` + strconv.Quote(conflict.Error())
	rest := []string{
		`"level"=0 "msg"="Cannot decide" "name"="job" "because"="` + input.Error() + `"`,
		`"msg"="Reconciler error" "error"="` + errTimeout.Error() + `" "name"="job"`,
	}
	for verbosity, want := range [][]string{rest, append([]string{again}, rest...)} {
		var lines []string
		log := quietly(funcr.New(func(prefix, line string) {
			Same(t, "the prefix", prefix, "controller")
			lines = append(lines, line)
		}, funcr.Options{Verbosity: verbosity})).WithName("controller").WithValues("name", "job")
		for _, err := range []error{conflict, input, errTimeout} {
			log.Error(err, "Reconciler error")
		}
		Same(t, "lines", lines, want)
	}
	Same(t, "a zero logger stays", quietly(logr.Logger{}).IsZero(), true)
}
