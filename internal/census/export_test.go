package census

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Remove removes a pod. It reports whether the census had it.
func (c *Census) Remove(uid types.UID) bool {
	r := c.records.get(uid)
	if r == nil {
		return false
	}
	c.drop(r)
	return true
}

// Predecessors returns the predecessors of all indexes, ordered by index.
func (c *Census) Predecessors() (all []*Record) {
	if c.indexed == nil {
		return nil
	}
	for _, r := range c.failed.values() {
		if c.waits(r) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, (*Record).compare)
	return all
}

// checkIndexed returns the invariants about indexes that do not hold.
func (c *Census) checkIndexed(fresh *Census) (errs []error) {
	for name, n := range map[string][2]*numbers{
		"running": {&c.running, &fresh.running}, "ending": {&c.ending, &fresh.ending},
		"succeeded": {&c.succeeded.pods, &fresh.succeeded.pods}, "failing": {&c.failing.pods, &fresh.failing.pods},
	} {
		if got, want := maps.Collect(n[0].values()), maps.Collect(n[1].values()); !maps.Equal(got, want) || c.runs != fresh.runs {
			errs = append(errs, fmt.Errorf("%s: got %v, want %v", name, got, want))
		}
	}
	if got, want := maps.Collect(c.failed.values()), maps.Collect(fresh.failed.values()); !maps.EqualFunc(got, want, EqualRecords) ||
		len(got) != int(c.failedIndexes) {
		errs = append(errs, fmt.Errorf("failed: got %v, want %v", got, want))
	}
	for name, j := range map[string]*joined{"succeeded": &c.succeeded, "failing": &c.failing} {
		copied := *j
		if want := j.base.Union(j.pods.indexes()); !copied.union().Equal(want) {
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
	return errs
}

// Check returns the invariants that do not hold.
func (c *Census) Check() error {
	fresh := New(&c.classifier, 0)
	fresh.stripped = c.stripped
	if c.indexed != nil {
		fresh.succeeded.base, fresh.failing.base = c.succeeded.base, c.failing.base
	}
	for _, r := range c.records.all() {
		fresh.swap(nil, r.Pod, r.Relation)
	}
	var errs []error
	for l := range lists {
		if mine := c.lists[l]; mine != nil {
			errs = append(errs, mine.check(fmt.Sprint("list ", l)))
			if got, want := slices.Collect(mine.all()), slices.Collect(fresh.list(l).all()); !slices.EqualFunc(got, want, EqualRecords) {
				errs = append(errs, fmt.Errorf("list %d: got %v, want %v", l, got, want))
			}
		}
	}
	for uid, r := range c.records.all() {
		if !EqualRecords(r, fresh.records.get(uid)) {
			errs = append(errs, fmt.Errorf("record %s: got %v, want %v", uid, r, fresh.records.get(uid)))
		}
	}
	errs = append(errs, c.finishes.check("finishes"))
	if got, want := slices.Collect(c.finishes.all()), slices.Collect(fresh.finishTimes().all()); c.finishes != nil &&
		!slices.EqualFunc(got, want, func(a, b finish) bool { return a.compare(b) == 0 && a.number == b.number }) {
		errs = append(errs, fmt.Errorf("finishes: got %v, want %v", got, want))
	}
	if c.names != nil {
		for uid, r := range c.records.all() {
			if c.names[r.Pod.Name] != r || len(c.names) != c.records.len() {
				errs = append(errs, fmt.Errorf("names: %s is not the record of %s", r.Pod.Name, uid))
			}
		}
	}
	if c.indexed != nil {
		errs = append(errs, c.checkIndexed(fresh)...)
	}
	type numbered struct {
		active, ready, terminating, succeeded, failed, own, finished int32
		restarts                                                     int64
		members                                                      [lists]int32
	}
	of := func(c *Census) numbered {
		return numbered{c.Active, c.Ready, c.Terminating, c.Succeeded, c.Failed, c.own, c.finished, c.Restarts, c.members}
	}
	if of(c) != of(fresh) {
		errs = append(errs, fmt.Errorf("numbers: got %v, want %v", of(c), of(fresh)))
	}
	return errors.Join(errs...)
}

// EqualRecords compares the classes by content, because each census shares its own.
func EqualRecords(a, b *Record) bool { return a.Pod == b.Pod && reflect.DeepEqual(a, b) }

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
