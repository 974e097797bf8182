package group_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// cluster is an API server with a group: its owner, and one object for each member at most.
type cluster struct {
	owner   group.Owner
	objects []object
	version int  // of the last write
	slow    bool // an object that is deleted exists for a while
}

func newCluster(policy *group.Policy, members ...group.Member) *cluster {
	c := &cluster{owner: group.Owner{UID: "owner", Policy: policy}}
	for _, m := range members {
		c.objects = append(c.objects, object{Member: m, owner: "owner"})
	}
	c.touch()
	return c
}

func (c *cluster) touch() { c.version++; c.owner.ResourceVersion = fmt.Sprint(c.version) }

// view returns what a live read of all would.
func (c *cluster) view() group.View {
	v := group.View{Owner: c.owner, Now: noon}
	for _, o := range c.objects {
		if o.owner != c.owner.UID {
			o = object{Member: o.Member}
		}
		v.Members = append(v.Members, &o)
	}
	return v
}

var resource = schema.GroupResource{Resource: "things"}

// send carries out a request.
func (c *cluster) send(r group.Request) (v group.View, err error) {
	at := slices.IndexFunc(c.objects, func(o object) bool {
		return r.Object != nil && o.uid == r.UID || r.Object == nil && o.Member == r.Member && (o.Name != "" || o.uid == "")
	})
	switch r.Verb {
	case group.GetOwner:
		if c.owner.UID == "" {
			return v, apierrors.NewNotFound(resource, "owner")
		}
		v.Owner = c.owner
	case group.ListMembers:
		v.Members = c.view().Members
	case group.StoreState:
		if r.UID != c.owner.UID || r.ResourceVersion != c.owner.ResourceVersion {
			return v, apierrors.NewConflict(resource, "owner", errors.New("it has changed"))
		}
		c.owner.State = *r.Plan.State.DeepCopy()
		c.touch()
		v.Owner.ResourceVersion = c.owner.ResourceVersion
	case group.DeleteMember:
		if at < 0 {
			return v, apierrors.NewNotFound(resource, r.Member.Name)
		}
		c.objects[at].deleting = c.slow
		if !c.slow {
			c.objects[at] = object{Member: c.objects[at].Member, owner: c.owner.UID}
		}
	case group.CreateMember:
		if at < 0 || c.objects[at].uid != "" {
			return v, apierrors.NewAlreadyExists(resource, r.Member.Name)
		}
		c.version++
		c.objects[at].uid, c.objects[at].owner, c.objects[at].attempt = types.UID(fmt.Sprint("uid", c.version)), r.UID, r.Attempt
	}
	return v, err
}

// requestText describes a request.
func requestText(r group.Request) string {
	switch r.Verb {
	case group.StoreState:
		return strings.Join(strings.Fields("store "+string(r.Plan.State.Phase)+" "+r.Plan.Message()), " ")
	case group.DeleteMember:
		return "delete " + r.Member.Name
	case group.CreateMember:
		return fmt.Sprintf("create %s@%d", r.Member.Name, r.Attempt)
	}
	return r.Verb.String()
}

// synced runs a sync on what the caches show, and returns its requests. answer may replace an answer.
func synced(d *group.Driver, c *cluster, cached group.View, answer func(r group.Request, v group.View, err error) (group.View, error)) string {
	var sent []string
	d.Begin(cached)
	d.Run(func(r group.Request) (group.View, error) {
		sent = append(sent, requestText(r))
		v, err := c.send(r)
		return answer(r, v, err)
	})
	return strings.Join(sent, ", ")
}

func faultless(_ group.Request, v group.View, err error) (group.View, error) { return v, err }

const reads = "get the owner, list the members"

// A group step by step: what has changed, and the requests of the sync that follows.
func TestDriver(t *testing.T) {
	c := newCluster(policyOf(t, `{budgets: [{name: alone, per: Member, max: 1}], rules: [{steps: [
		{action: RestartMember, charges: [alone], backoff: {base: 5s}}, {action: Leave}]}]}`), members[:3]...)
	var d group.Driver
	now := 0
	for _, step := range []struct {
		change func()
		want   string
		wait   time.Duration
	}{
		{func() {}, reads + ", create a-0@0, create a-1@0, create b-0@0", 0},
		{func() {}, "", 0},
		{func() { c.objects[0].phase, c.objects[1].phase = group.Complete, group.Failed }, reads + ", store RestartMember: a-1 failed, delete a-1", 0},
		{func() {}, "", 5 * time.Second},
		{func() { now = 5 }, reads + ", create a-1@1", 0},
		{func() { c.objects[1].phase, c.objects[2].phase = group.Failed, group.Failed },
			reads + ", store Leave: a-1 failed, store RestartMember: b-0 failed, delete b-0", 0},
		{func() { now = 9 }, reads + ", create b-0@1", 0},
		{func() { c.objects[2].phase = group.Complete }, reads + ", store Failed members left failed: 1", 0},
		{func() {}, "", 0},
	} {
		step.change()
		view := c.view()
		view.Now = at(now)
		got := synced(&d, c, view, faultless)
		r := d.Result()
		if got != step.want || r.Err != nil || r.Requeue != step.wait || r.Plan.State.Phase != c.owner.State.Phase {
			t.Errorf("got  %s, again after %v, %v\nwant %s, %v", got, r.Requeue, r.Err, step.want, step.wait)
		}
	}
}

// What answers mean, when a group of the members a-0, a-1 and b-0 begins, or with its failures decided. Caches show
// nothing of it.
func TestDriver_answers(t *testing.T) {
	lost := errors.New("the connection was lost")
	newer := group.Owner{UID: "owner", ResourceVersion: "8", State: group.State{Version: 2}}
	on := func(verb group.Verb, v group.View, err error) func(group.Request, group.View, error) (group.View, error) {
		return func(r group.Request, was group.View, failed error) (group.View, error) {
			if r.Verb == verb {
				return v, err
			}
			return was, failed
		}
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "a-0", nil)
	for name, tc := range map[string]struct {
		failed bool // a-0 has, in attempt 0
		answer func(group.Request, group.View, error) (group.View, error)
		want   string
		err    string // a part of it; empty for none
	}{
		"the owner is gone":        {false, on(group.GetOwner, newCluster(nil).view(), apierrors.NewNotFound(resource, "x")), "get the owner", ""},
		"no owner":                 {false, on(group.GetOwner, group.View{}, nil), "get the owner", ""},
		"a deletion began":         {false, on(group.GetOwner, group.View{Owner: group.Owner{UID: "owner", Deleting: true}}, nil), "get the owner", ""},
		"no read":                  {false, on(group.GetOwner, group.View{}, lost), "get the owner", "reading the owner: the connection"},
		"no list":                  {false, on(group.ListMembers, group.View{}, lost), reads, "listing the members: the connection"},
		"a newer writer":           {true, on(group.GetOwner, group.View{Owner: newer}, nil), reads, "the state has version 2"},
		"a creation has no answer": {false, on(group.CreateMember, group.View{}, lost), reads + ", create a-0@0", "creating a-0: the connection"},
		"it exists":                {false, on(group.CreateMember, group.View{}, apierrors.NewAlreadyExists(resource, "a-0")), reads + ", create a-0@0", "already exists"},
		"slow down":                {false, on(group.CreateMember, group.View{}, apierrors.NewTooManyRequests("later", 7)), reads + ", create a-0@0", "later"},
		"an invalid template": {false, on(group.CreateMember, group.View{}, invalid),
			reads + `, create a-0@0, store Failed Job "a-0" is invalid`, ""},
		"a write that has no answer": {true, on(group.StoreState, group.View{}, lost), reads + ", store RestartMember: a-0 failed", "storing the state: the conn"},
		"a conflict":                 {true, on(group.StoreState, group.View{}, apierrors.NewConflict(resource, "x", lost)), reads + ", store RestartMember: a-0 failed", "storing the state: Op"},
		"a write without a version":  {true, on(group.StoreState, group.View{}, nil), reads + ", store RestartMember: a-0 failed, delete a-0", ""},
		"deleted by others":          {true, on(group.DeleteMember, group.View{}, apierrors.NewNotFound(resource, "x")), reads + ", store RestartMember: a-0 failed, delete a-0", ""},
		"recreated by others":        {true, on(group.DeleteMember, group.View{}, apierrors.NewConflict(resource, "x", lost)), reads + ", store RestartMember: a-0 failed, delete a-0", ""},
		"a deletion has no answer":   {true, on(group.DeleteMember, group.View{}, lost), reads + ", store RestartMember: a-0 failed, delete a-0", "deleting a-0: the connection"},
		"no version": {true, on(group.GetOwner, group.View{Owner: group.Owner{UID: "owner"}}, nil), reads,
			"the owner has no resource version"},
		"another policy": {true, on(group.GetOwner, group.View{Owner: group.Owner{UID: "owner", ResourceVersion: "1",
			Policy: &group.Policy{Rules: []group.Rule{{Steps: []group.Step{{Action: group.Leave}}}}}}}, nil), reads + ", store Leave: a-0 failed", ""},
		"cannot be": {false, on(group.GetOwner, group.View{Owner: group.Owner{UID: "owner", ResourceVersion: "1", Invalid: lost}}, nil),
			reads + ", store Failed the connection was lost", ""},
	} {
		c := newCluster(policyOf(t, `{rules: [{steps: [{action: RestartMember}]}]}`), members[:3]...)
		cached := c.view()
		if tc.failed {
			for i := range c.objects {
				c.objects[i].uid = types.UID(c.objects[i].Name)
			}
			c.objects[0].phase = group.Failed
		}
		var d group.Driver
		got := synced(&d, c, cached, tc.answer)
		r := d.Result()
		if got != tc.want || (r.Err == nil) != (tc.err == "") || r.Err != nil && !strings.Contains(r.Err.Error(), tc.err) || r.Lost != nil {
			t.Errorf("%s:\ngot  %s, %v\nwant %s, %s", name, got, r.Err, tc.want, tc.err)
		}
		if want := map[bool]time.Duration{true: 7 * time.Second}[name == "slow down"]; r.RetryAfter != want { // "as the API server asked"
			t.Errorf("%s: retry after %v, want %v", name, r.RetryAfter, want)
		}
		if gone := strings.HasPrefix(tc.want, "get the owner") && !strings.HasPrefix(tc.want, reads) && tc.err == ""; gone != r.Gone {
			t.Errorf("%s: gone: %v", name, r.Gone)
		}
	}
}

// Creations come in batches of 1, 2, 4 and so on. Those of a batch without an answer count as lost, and end the sync;
// late and second answers are refused.
func TestDriver_batches(t *testing.T) {
	var many []group.Member
	for i := range 9 {
		many = append(many, member(fmt.Sprint("m-", i), "m"))
	}
	c := newCluster(nil, many...)
	var d group.Driver
	var sizes []int
	var first group.Request
	d.Begin(c.view())
	for batch := d.Next(); len(batch) > 0; batch = d.Next() {
		sizes = append(sizes, len(batch))
		if len(sizes) == 1 {
			first = batch[0]
		}
		for _, r := range batch {
			v, err := c.send(r)
			if len(sizes) == 5 {
				continue // never answered
			}
			if err := d.Answer(r, v, err); err != nil {
				t.Error(err)
			}
			if d.Answer(r, v, err) == nil || len(sizes) > 1 && d.Answer(first, v, err) == nil {
				t.Error("a second or a late answer is taken")
			}
		}
	}
	if want := []int{1, 1, 1, 2, 4}; !slices.Equal(sizes, want) || strings.Count(fmt.Sprint(d.Result().Err), "not answered") != 4 {
		t.Errorf("batches of %v, %v; want %v, and the lost answers reported", sizes, d.Result().Err, want)
	}
	if got := synced(&d, c, c.view(), faultless); got != reads+", create m-7@0, create m-8@0" || d.Result().Err != nil {
		t.Errorf("the next sync: %s, %v", got, d.Result().Err)
	}
}

// The owner was recreated: the caches show the earlier one, and its members. A member of a later attempt than the state
// is that of another process, if the owner has changed since it was read; else the state was lost.
func TestDriver_owners(t *testing.T) {
	policy := policyOf(t, `{rules: [{steps: [{action: RestartGroup}]}]}`)
	restarted := group.State{Version: 1, Group: group.Part{Restarts: 1}}
	for name, tc := range map[string]struct {
		again group.Owner // what the second read returns
		want  string
		err   string
	}{
		"it was lost":     {group.Owner{UID: "new", ResourceVersion: "1"}, reads + ", get the owner", "the state is old"},
		"another process": {group.Owner{UID: "new", ResourceVersion: "2", State: restarted}, reads + ", get the owner, delete a-0", ""},
		"replaced":        {group.Owner{UID: "newer", ResourceVersion: "2", State: restarted}, reads + ", get the owner", "the owner was replaced"},
		"gone":            {group.Owner{}, reads + ", get the owner", ""},
	} {
		c := newCluster(policy, members[:2]...)
		cached := c.view()
		c.owner.UID, c.objects[0].owner, c.objects[1].owner = "new", "new", "new"
		c.objects[0].uid, c.objects[1].uid, c.objects[1].attempt = "0", "1", 1
		var d group.Driver
		got := synced(&d, c, cached, func(r group.Request, v group.View, err error) (group.View, error) {
			if r.Verb == group.ListMembers {
				c.owner = tc.again
				c.owner.Policy = policy
			}
			return v, err
		})
		r := d.Result()
		if got != tc.want || (r.Err == nil) != (tc.err == "") || r.Err != nil && !strings.Contains(r.Err.Error(), tc.err) ||
			(r.Lost != nil) != (name == "it was lost") {
			t.Errorf("%s:\ngot  %s, %v, %v\nwant %s, %s", name, got, r.Err, r.Lost, tc.want, tc.err)
		}
	}
}

// A newer writer, and an owner that is gone or is being deleted: nothing is sent. An invalid policy is read live first.
func TestDriver_refuses(t *testing.T) {
	c := newCluster(&group.Policy{Rules: []group.Rule{{}}}, members[:3]...)
	c.objects[0].uid, c.objects[0].phase = "0", group.Failed
	var d group.Driver
	if got := synced(&d, c, c.view(), faultless); got != reads || !strings.Contains(fmt.Sprint(d.Result().Err), "rules[0].steps: Required") {
		t.Errorf("sent %s, %v; want the policy refused", got, d.Result().Err)
	}
	old := group.State{Version: 1}
	for owner, gone := range map[*group.Owner]bool{{State: old}: true, {UID: "owner", Deleting: true, State: old}: true, {UID: "owner", State: group.State{Version: 2}}: false} {
		view := c.view()
		view.Owner = *owner
		if got, r := synced(&d, c, view, faultless), d.Result(); got != "" || r.Gone != gone || (r.Err == nil) != gone || ToJSON(r.Plan.State) != ToJSON(owner.State) {
			t.Errorf("sent %s, %v, gone %v", got, r.Err, r.Gone)
		}
	}
}

// What is due although no member has failed or is missing: the end of a suspension, and of a group that cannot be.
func TestDriver_due(t *testing.T) {
	for want, state := range map[string]group.State{
		reads + ", store resumed": {Phase: group.Suspended, Group: group.Part{Restarts: 1}},
		reads + ", store Failed the answer is lost, delete a-0, delete a-1": {},
	} {
		c := newCluster(nil, members[:2]...)
		for i := range c.objects {
			c.objects[i].uid, c.objects[i].deleting = types.UID(c.objects[i].Name), state.Phase != ""
		}
		c.owner.State = state
		if state.Phase == "" {
			c.owner.Invalid = errLost
		}
		var d group.Driver
		if got := synced(&d, c, c.view(), faultless); got != want || d.Result().Err != nil {
			t.Errorf("got  %s, %v\nwant %s", got, d.Result().Err, want)
		}
	}
}
