package census

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Check returns the invariants that do not hold.
func (c *Census) Check() error {
	fresh := New(c.classifier, 0)
	fresh.owner, fresh.stripped = c.owner, c.stripped
	fresh.succeeded.base, fresh.failing.base = c.succeeded.base, c.failing.base
	for _, r := range c.records {
		fresh.add(r.Pod, r.Relation, r.Pod.Annotations[c.classifier.Keys.Index])
	}
	var errs []error
	for l := range lists {
		if mine := c.lists[l]; mine != nil {
			errs = append(errs, mine.check(fmt.Sprint("list ", l)))
			if got, want := slices.Collect(mine.all()), slices.Collect(fresh.list(l).all()); !slices.EqualFunc(got, want, equalRecords) {
				errs = append(errs, fmt.Errorf("list %d: got %v, want %v", l, got, want))
			}
		}
	}
	for uid, r := range c.records {
		if !equalRecords(r, fresh.records[uid]) {
			errs = append(errs, fmt.Errorf("record %s: got %v, want %v", uid, r, fresh.records[uid]))
		}
	}
	for name, sets := range map[string][2]*instants{
		"unrecorded succeeded": {&c.unrecorded.succeeded, &fresh.unrecorded.succeeded}, "unrecorded failed": {&c.unrecorded.failed, &fresh.unrecorded.failed},
		"unrecorded fail Job": {&c.unrecorded.failJob, &fresh.unrecorded.failJob}, "succeeded": {&c.counted.succeeded, &fresh.counted.succeeded},
		"failed": {&c.counted.failed, &fresh.counted.failed}, "deleted": {&c.counted.deleted, &fresh.counted.deleted},
	} {
		errs = append(errs, sets[0].check(name))
		if got, want := slices.Collect(sets[0].backward()), slices.Collect(sets[1].backward()); !slices.Equal(got, want) {
			errs = append(errs, fmt.Errorf("%s: got %v, want %v", name, got, want))
		}
	}
	for name, n := range map[string][2]numbers{
		"running": {c.running, fresh.running}, "ending": {c.ending, fresh.ending},
		"succeeded": {c.succeeded.pods, fresh.succeeded.pods}, "failing": {c.failing.pods, fresh.failing.pods},
	} {
		if !maps.Equal(n[0], n[1]) {
			errs = append(errs, fmt.Errorf("%s: got %v, want %v", name, n[0], n[1]))
		}
	}
	if c.names != nil {
		for uid, r := range c.records {
			if c.names[r.Pod.Name] != r || len(c.names) != len(c.records) {
				errs = append(errs, fmt.Errorf("names: %s is not the record of %s", r.Pod.Name, uid))
			}
		}
	}
	if !maps.EqualFunc(c.failed, fresh.failed, equalRecords) {
		errs = append(errs, fmt.Errorf("failed: got %v, want %v", c.failed, fresh.failed))
	}
	for name, j := range map[string]*joined{"succeeded": &c.succeeded, "failing": &c.failing} {
		copied := j.clone()
		if want := j.base.Union(j.pods.set()); !copied.union().Equal(want) {
			errs = append(errs, fmt.Errorf("%s: got %v, want %v", name, copied.union(), want))
		}
	}
	if c.vacant != nil {
		errs = append(errs, c.vacant.check("vacant"))
		fresh.findVacant()
		if got, want := slices.Collect(c.vacant.all()), slices.Collect(fresh.vacant.all()); !slices.Equal(got, want) || c.vacancies != fresh.vacancies {
			errs = append(errs, fmt.Errorf("vacant: got %v, want %v", got, want))
		}
	}
	a, b := *c, *fresh
	type numbered struct{ a, r, t, s, f, fs, restarts, foreign, own, claimed, held, ended, failsJob int }
	of := func(c *Census) numbered {
		return numbered{int(c.Active), int(c.Ready), int(c.Terminating), int(c.Succeeded), int(c.Failed), int(c.Failures), int(c.Restarts),
			c.Foreign, int(c.own), int(c.claimed), int(c.held), int(c.ended), int(c.failsJob)}
	}
	if of(&a) != of(&b) {
		errs = append(errs, fmt.Errorf("numbers: got %v, want %v", of(&a), of(&b)))
	}
	return errors.Join(errs...)
}

func equalRecords(a, b *Record) bool { return *a == *b }

func (o *ordered[T]) check(name string) error {
	if o == nil {
		return nil
	}
	n := 0
	var last *T
	for _, chunk := range o.chunks {
		if len(chunk) == 0 || len(chunk) > mostItems {
			return fmt.Errorf("%s: a chunk has %d items", name, len(chunk))
		}
		for i := range chunk {
			if last != nil && o.compare(*last, chunk[i]) >= 0 {
				return fmt.Errorf("%s: %v comes before %v", name, *last, chunk[i])
			}
			last = &chunk[i]
		}
		n += len(chunk)
	}
	if n != o.n {
		return fmt.Errorf("%s: n is %d, want %d", name, o.n, n)
	}
	return nil
}
