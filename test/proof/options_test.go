package proof

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// setting is an option of a controller.
type setting struct {
	name string
	// refused says that a Follower that is not told of the option refuses what the controller does.
	refused bool
	// option returns the option, and tells the Follower.
	option func(dice *rand.Rand, o *Options) decide.Option
}

var settings = []setting{
	{"FailLostPods", true, func(dice *rand.Rand, o *Options) decide.Option {
		o.LostAfter = time.Duration(1+dice.IntN(20)) * time.Second
		return decide.FailLostPods(o.LostAfter)
	}},
	{"SucceedOnExitZero", true, func(_ *rand.Rand, o *Options) decide.Option {
		o.ExitZero = true
		return decide.SucceedOnExitZero()
	}},
	{"Keys", true, func(_ *rand.Rand, o *Options) decide.Option {
		o.Keys = tracking.Keys{Finalizer: "example.com/counted", Index: "example.com/part",
			FailureCount: "example.com/part-failures"}
		return decide.Keys(o.Keys)
	}},
	{"FailurePolicy", true, func(dice *rand.Rand, o *Options) decide.Option {
		actions := []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionIgnore,
			batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob}
		codes := &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42, 137}}
		o.Policy = &failurepolicy.Spec{
			Rules: []failurepolicy.Rule{{Action: actions[dice.IntN(len(actions))], OnExitCodes: codes}}}
		return decide.FailurePolicy(o.Policy)
	}},
	{"WithoutFailurePolicy", true, func(_ *rand.Rand, o *Options) decide.Option {
		o.Policy, o.WithoutPolicy = nil, true
		return decide.WithoutFailurePolicy()
	}},
	{"WithoutPerIndexBackoff", false, func(_ *rand.Rand, o *Options) decide.Option {
		o.WithoutPerIndex = true
		return decide.WithoutPerIndexBackoff()
	}},
	{"WithoutReplacementPolicy", true, func(_ *rand.Rand, o *Options) decide.Option {
		o.WithoutReplacement = true
		return decide.WithoutReplacementPolicy()
	}},
	{"MaxUncounted", false, func(dice *rand.Rand, o *Options) decide.Option {
		o.Cap = 1 + int16(dice.IntN(2))
		return decide.MaxUncounted(int(o.Cap))
	}},
	{"MaxRemovals", false, func(dice *rand.Rand, _ *Options) decide.Option {
		return decide.MaxRemovals(1 + dice.IntN(2))
	}},
	{"MaxChanges", false, func(dice *rand.Rand, _ *Options) decide.Option {
		return decide.MaxChanges(1 + dice.IntN(2))
	}},
	{"FillFreeSlots", false, func(*rand.Rand, *Options) decide.Option { return decide.FillFreeSlots() }},
	{"GranularReasons", false, func(*rand.Rand, *Options) decide.Option { return decide.GranularReasons() }},
	{"Throttle", false, func(*rand.Rand, *Options) decide.Option {
		return decide.Throttle(10*time.Second, 0.5)
	}},
	{"BatchPeriod", false, func(*rand.Rand, *Options) decide.Option { return decide.BatchPeriod(10 * time.Second) }},
	{"Backoff", false, func(_ *rand.Rand, o *Options) decide.Option {
		o.Backoff = backoff.Policy{Base: time.Second, Cap: time.Minute}
		return decide.Backoff(o.Backoff)
	}},
}

// optional returns the configuration of a schedule with options, and tells the Follower of them.
func optional(seed uint64, o *Options, options ...decide.Option) chaos.Config {
	c := chaos.Config{Seed: seed, Rules: o.Rules, Controller: func() cluster.Controller {
		caller := jobtest.NewCaller(options...)
		caller.Feeding, caller.StatusElsewhere = seed%2 == 1, seed%5 == 0
		n := 0
		if seed%7 == 0 {
			caller.Machine.Names = func(prefix string) string {
				n++
				return fmt.Sprintf("%s%05d", prefix, n)
			}
		}
		return caller
	}}
	if o.LostAfter > 0 { // some pods never end
		c.Without = []string{"deleted pod exits 0", "deleted pod exits 137", "deleted pod exits with its own code",
			"deleted pod fails"}
	}
	return c
}

// followOptions follows schedules in which the controller has about three random options. The referee does not know
// all of them: it ends 1 in 20 schedules early.
func followOptions(t *testing.T, p *program) {
	drawn := map[string]int{}
	for seed := range uint64(schedules() / 4) {
		dice := rand.New(rand.NewPCG(seed, 7))
		var o Options
		var options []decide.Option
		for _, s := range settings {
			if dice.IntN(len(settings)) < 3 {
				drawn[s.name]++
				options = append(options, s.option(dice, &o))
			}
		}
		finish(t, fmt.Sprintf("seed %d", seed), follow(p, o, optional(seed, &o, options...)))
	}
	for _, s := range settings {
		if drawn[s.name] < schedules()/60 {
			t.Errorf("%s was drawn %d times", s.name, drawn[s.name])
		}
	}
}

// Options change what is followed: some Follower that is not told of them refuses what the controller does.
func TestOptionsMatter(t *testing.T) {
	p := compiledModel(t)
	for _, s := range settings {
		if !s.refused {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(1_000) {
				var o Options
				option := s.option(rand.New(rand.NewPCG(seed, 7)), &o)
				if f := follow(p, Options{}, optional(seed, &o, option)); f.Refused != nil {
					t.Logf("seed %d: %.300s", seed, f.Refused)
					return
				}
			}
			t.Error("no schedule is refused")
		})
	}
}
