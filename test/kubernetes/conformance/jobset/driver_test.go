package jobset_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/constants"

	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/group/jobs"
)

// driven is a cluster in which group.Driver runs the set.
type driven struct {
	world
	policy *group.Policy
	state  group.State // as last read or stored
	ending []string    // Jobs that were ending when the group failed
	never  group.Verb  // requests that are not sent: a planted bug
}

func (d *driven) sync() error {
	owner, errOwner := d.owner(d.cached)
	members, errMembers := d.members(d.cached)
	var driver group.Driver
	driver.Begin(group.View{Owner: owner, Members: members, Now: start.Add(time.Hour)})
	return errors.Join(errOwner, errMembers, driver.Run(d.send).Err)
}

func (d *driven) owner(from client.Reader) (group.Owner, error) {
	errGet := from.Get(quiet, client.ObjectKeyFromObject(d.set), d.set)
	d.state = group.State{}
	err := errors.Join(errGet, json.Unmarshal([]byte(d.set.Annotations[stateKey]), &d.state))
	return group.Owner{UID: d.set.UID, ResourceVersion: d.set.ResourceVersion, State: d.state, Policy: d.policy}, err
}

func (d *driven) members(from client.Reader) ([]group.Object, error) {
	var found batchv1.JobList
	err := from.List(quiet, &found)
	return jobs.Of(d.set.UID, membersOf(d.set), found.Items, attemptKey), err
}

func (d *driven) send(r group.Request) (v group.View, err error) {
	switch r.Verb {
	case d.never:
	case group.GetOwner:
		v.Owner, err = d.owner(d.live)
	case group.ListMembers:
		v.Members, err = d.members(d.live)
	case group.StoreState:
		text, errJSON := json.Marshal(r.Plan.State)
		d.set.Annotations, d.set.ResourceVersion = map[string]string{stateKey: string(text)}, r.ResourceVersion
		err = errors.Join(errJSON, d.note(r.Plan), d.live.Update(quiet, d.set))
		v.Owner.ResourceVersion = d.set.ResourceVersion
	case group.DeleteMember:
		err = d.live.Delete(quiet, r.Object.(*jobs.Job).Job, client.Preconditions{UID: &r.UID},
			client.PropagationPolicy(metav1.DeletePropagationForeground))
	case group.CreateMember:
		err = d.live.Create(quiet, d.newJob(r.Member, r.Attempt))
	}
	return v, err
}

// newJob returns the Job of a member, with the labels of JobSet that say after which restarts it is created.
func (d *driven) newJob(m group.Member, attempt int32) *batchv1.Job {
	templates := d.set.Spec.ReplicatedJobs
	i := slices.IndexFunc(templates, func(rj v1alpha2.ReplicatedJob) bool { return rj.Name == m.Template })
	job := &batchv1.Job{Spec: *templates[i].Template.Spec.DeepCopy()}
	job.Namespace, job.Name = d.set.Namespace, m.Name
	job.Annotations = map[string]string{attemptKey: strconv.Itoa(int(attempt))}
	job.Labels = map[string]string{constants.RestartsKey: strconv.Itoa(int(d.state.Group.Restarts)),
		constants.JobRestartAttemptKey: strconv.Itoa(int(d.state.Members[m.Name].Restarts))}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d.set, setKind)}
	return job
}

// note notes the decision of a plan that is stored and, if the group fails, which Jobs are ending.
func (d *driven) note(p *group.Plan) error {
	d.state = p.State
	if p.Action != "" {
		d.told = append(d.told, decisionOf(d.set, &p.Decision))
	}
	members, err := d.members(d.live)
	for _, o := range members {
		if p.State.Phase == group.Failed && o.Phase() == group.Ending && o.CreatedFor() == p.State.Attempt(o.Of()) {
			d.ending = append(d.ending, o.Of().Name)
		}
	}
	return err
}

func (d *driven) view() view {
	now := decisionOf(d.set, &group.Decision{State: d.state, Match: group.Match{Rule: -1}})
	now.reason = map[group.Phase]string{group.Complete: "Completed", group.Failed: "Failed"}[d.state.Phase]
	return d.viewWith(now)
}
