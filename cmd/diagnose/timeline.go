package diagnose

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Moment is an event in the life of a Job.
type Moment struct {
	At time.Time
	// Object is the kind and the name of what the event is about: "pod/train-0".
	Object  string
	Warning bool
	Reason  string
	Message string
	// Count is how often it happened, and at how many pods: at least 1.
	Count, Pods int
}

// Timeline returns the last events of the Job, of its owners, of the pods that the causes name, and of what
// these pods need, with the warnings, evictions and restarts of pods that are gone, the oldest first. Events of several
// pods that say the same count as one, and only the given number is returned.
func (d Diagnosis) Timeline(most int) (all []Moment) {
	f := d.facts
	if f == nil || len(f.events) == 0 {
		return nil
	}
	events := slices.Clone(f.events[f.Job.UID])
	for _, o := range f.owners {
		ofOther := func(e *corev1.Event) bool { // another Job of a CronJob
			return o.kind == "CronJob" && mentions(e.Message, o.name+"-") && !mentions(e.Message, f.Job.Name)
		}
		events = append(events, slices.DeleteFunc(slices.Clone(f.events[o.uid]), ofOther)...)
	}
	if w := f.workload(); w != nil {
		events = append(events, f.events[w.uid()]...)
	}
	affected := map[string]bool{}
	for _, c := range d.Causes() {
		for _, name := range c.Pods {
			affected[name] = true
		}
	}
	needed := map[string]bool{}
	for _, r := range f.pods {
		if !affected[r.Pod.Name] {
			continue
		}
		events = append(events, f.events[r.Pod.UID]...)
		for _, claim := range f.claims(r.Pod) {
			if !needed[claim] {
				needed[claim] = true
				events = append(events, f.about("PersistentVolumeClaim", r.Pod.Namespace, claim)...)
			}
		}
	}
	for _, of := range f.gonePods() {
		for _, e := range of {
			if isWarning(e) || killedByProbe(e) || disrupts(e) {
				events = append(events, e)
			}
		}
	}
	slices.SortStableFunc(events, byTime)
	type same struct{ kind, reason, message string }
	at, pods := map[same]int{}, map[same]map[types.UID]bool{}
	for _, event := range events {
		m := momentOf(event)
		k := same{event.InvolvedObject.Kind, m.Reason, unnamed(event)}
		if i, known := at[k]; known {
			m.Count += all[i].Count
			all[i].Count = 0 // the later one replaces it
		} else {
			pods[k] = map[types.UID]bool{}
		}
		pods[k][event.InvolvedObject.UID] = true
		m.Pods = len(pods[k])
		at[k], all = len(all), append(all, m)
	}
	all = slices.DeleteFunc(all, func(m Moment) bool { return m.Count == 0 })
	return all[max(0, len(all)-most):]
}

func momentOf(e *corev1.Event) Moment {
	series := cmp.Or(e.Series, &corev1.EventSeries{})
	return Moment{At: timeOf(e), Object: strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name,
		Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Message: oneLine(e.Message),
		Count: int(max(1, e.Count, series.Count)), Pods: 1}
}
