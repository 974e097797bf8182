package chaos

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// spy looks on while a controller talks to the API server.
type spy struct {
	r *run
	cluster.Controller
}

// Sync implements cluster.Controller.
func (s spy) Sync(client *cluster.Client) (time.Duration, error) {
	r := s.r
	if r.tale != nil {
		r.tale.saw(r.acting, &client.View)
	}
	seen := *client
	seen.Send = func(q *cluster.Request) (cluster.Answer, error) {
		if writes(q) {
			r.writes++
		}
		answer, err := client.Send(q)
		if r.tale != nil {
			r.tale.asked(q, err)
		}
		if r.calm && err != nil && !apierrors.IsNotFound(err) {
			r.seeRefusal(q, err)
		}
		return answer, err
	}
	return s.Controller.Sync(&seen)
}

// seeRefusal notes what the API server refuses when nothing is in the way (L4).
func (r *run) seeRefusal(q *cluster.Request, err error) {
	key := fmt.Sprint(q.Verb, q.UID, string(q.Patch), q.Options.Preconditions)
	if q.Pod != nil {
		key += podLine(q.Pod)
	}
	if r.refused[key] {
		r.violate("L4", "%s is asked for again after it was refused: %v", key, err)
	}
	if r.refused == nil {
		r.refused = map[string]bool{}
	}
	r.refused[key] = true
}

func (r *run) violate(property, format string, args ...any) {
	if r.broken == nil {
		r.broken = &referee.Violation{Property: property, Text: fmt.Sprintf(format, args...)}
	}
}
