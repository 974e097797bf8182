package chaos

import (
	"os"
	"strconv"
	"testing"
)

func TestDbg(t *testing.T) {
	seed, _ := strconv.Atoi(os.Getenv("SEED"))
	m, _ := strconv.Atoi(os.Getenv("MODE"))
	r := newRun(Config{Seed: uint64(seed), Mode: Mode(m)}.orDefault(), nil)
	r.tale = &tale{}
	r.live()
	t.Log(r.story())
}
