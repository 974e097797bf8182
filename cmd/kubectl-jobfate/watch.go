package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/cli"
)

const (
	// lookEvery is the minimum time between two views. lookAfter is the maximum time between
	// them if only the time changes.
	lookEvery, lookAfter = time.Second, 5 * time.Second
)

// errOtherPods says that the Jobs need pods that are not watched.
var errOtherPods = errors.New("the Jobs select other pods")

// watch prints the state of Jobs. It returns once a named Job has ended.
func (p *program) watch(ctx context.Context, s selection, x *cli.Explain) error {
	follow := x.Follow(p.env, p.size)
	for {
		c, err := p.connect(s)
		if err != nil {
			return err
		}
		err = p.watchCluster(ctx, c, s, x, follow)
		switch {
		case ctx.Err() != nil:
			return cli.Interrupted
		case !errors.Is(err, errOtherPods):
			return err
		}
	}
}

func (p *program) watchCluster(ctx context.Context, c *cluster, s selection, x *cli.Explain, follow *cli.Follow) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	changed := make(chan struct{}, 1)
	if err := c.follow(ctx, s, fail, changed); err != nil {
		return err
	}
	var read time.Time
	for news := true; ; {
		if news && time.Since(read) >= lookAfter {
			if err := c.others.read(ctx, c); err != nil {
				return err
			}
			read = time.Now()
		}
		in := c.objects()
		switch {
		case c.name != "" && len(in.Jobs) == 0:
			return errors.New("the Job was deleted")
		case s.cron != "" && len(in.CronJobs) == 0:
			return errors.New("the CronJob does not exist")
		case len(in.Jobs) > 0 && c.pods.labels != "" && c.podLabels(in.Jobs) != c.pods.labels:
			return errOtherPods
		}
		view, err := viewOf(p.env, x, s, in)
		if err != nil {
			return err
		}
		if view.Ended() {
			return cmp.Or(follow.End(view), x.Answer(view))
		}
		if err := follow.Show(view, news); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
			news = true
		case <-time.After(lookAfter - lookEvery):
			news = false
		}
	}
}

// follow lets the tables follow the cluster, and returns once they are filled. Events and nodes
// are optional.
func (c *cluster) follow(ctx context.Context, s selection, fail func(error), changed chan<- struct{}) error {
	follow(ctx, c.jobs, fail, changed)
	<-c.jobs.ready
	in := c.objects()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.missing(in.Jobs) != "":
		return notFound(s.missing(in.Jobs))
	}
	c.pods.labels = c.podLabels(in.Jobs)
	if s.cronJobs() {
		follow(ctx, c.cronJobs, func(error) {}, changed)
		<-c.cronJobs.ready
	}
	follow(ctx, c.pods, fail, changed)
	follow(ctx, c.events, func(error) {}, changed)
	follow(ctx, c.nodes, func(error) {}, changed)
	<-c.pods.ready
	<-c.events.ready
	<-c.nodes.ready
	return context.Cause(ctx)
}

func follow[T any](ctx context.Context, t *table[T], fail func(error), changed chan<- struct{}) {
	t.changed = func() {
		select {
		case changed <- struct{}{}:
		default: // a change is pending already
		}
	}
	t.fail = fail
	go t.follow(ctx)
}
