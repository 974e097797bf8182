package faults

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

// The controller is killed repeatedly: before one of its writes, after it, or at any time.
func TestControllerIsKilled(t *testing.T) {
	t.Parallel()
	random := newRand(t)
	p, side := throughProxy(t, "killed")
	died, byWrite := 0, 0
	compareDisturbed(t, side, *indexes, func(over <-chan struct{}) {
		for died < *kills {
			how := runAndKill(p, side.Controller, random, over)
			if how == notAtAll {
				return
			}
			died++
			if how == atWrite {
				byWrite++
			}
			if err := side.Start(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	t.Logf("killed %d times, %d of them at a write", died, byWrite)
	if died < *kills || byWrite == 0 {
		t.Errorf("before all Jobs had ended, the controller was killed %d times, %d of them at a write; want %d times", died, byWrite, *kills)
	}
}

const (
	// writesOfLife is the average number of writes of a process before it is killed.
	writesOfLife = 50
	// lifetime bounds the life of half of the processes. The others are killed at a write, or
	// after a much longer time without a write.
	lifetime = 2 * time.Second
	idle     = 20 * time.Second
)

type killed uint8

const (
	notAtAll killed = iota // all Jobs have ended
	atWrite
	atSomeTime
)

// runAndKill lets the controller run for some time, and kills it.
func runAndKill(p *proxy.Proxy, c *server.Controller, random *rand.Rand, over <-chan struct{}) killed {
	dead := make(chan struct{})
	var once sync.Once
	kill := func() {
		once.Do(func() {
			c.Kill()
			close(dead)
		})
	}
	do := proxy.Before(kill)
	if random.IntN(2) == 0 {
		do = proxy.After(kill)
	}
	life := idle
	if random.IntN(2) == 0 {
		life = time.Duration(random.Int64N(int64(lifetime)))
	}
	defer p.Remove(disturbWrites(p, random.Uint64(), 1./writesOfLife, do)...)
	select {
	case <-over:
		return notAtAll
	case <-dead:
		return atWrite
	case <-time.After(life):
		kill()
		return atSomeTime
	}
}
