package chaos
import ("testing";"os";"strconv";"encoding/json";"github.com/jobfate/jobfate";"github.com/jobfate/jobfate/jobtest/cluster")
func TestDbg2(t *testing.T) {
	seed,_ := strconv.Atoi(os.Getenv("SEED"))
	m,_ := strconv.Atoi(os.Getenv("MODE"))
	var last string
	cfg := Config{Seed: uint64(seed), Mode: Mode(m)}
	cfg.Controller = func() cluster.Controller { c := cluster.NewCaller(); c.Decided = func(s jobfate.Snapshot, d jobfate.Decision) {
		st, _ := json.Marshal(s.Job.Status)
		ns, _ := json.Marshal(d.Status)
		fl, _ := json.Marshal(s.InFlight)
		last = string(st)+"\n"+string(ns)+"\n"+string(fl)
		last += "\nstrips "; for _, p := range d.Strip { last += string(p.UID)+" " }
		last += "\nsees "; for _, p := range s.Pods { last += podLine(p)+"\n" }
	}; return c }
	r := newRun(cfg.orDefault(), nil)
	r.tale = &tale{}
	r.live()
	t.Log(r.broken, last)
}
