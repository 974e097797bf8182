package chaos

// shrink looks for a shorter run with the same violation, and tells it.
func shrink(cfg Config, found *run) *run {
	skip := make([]bool, cfg.Steps+1)
	for i := found.step + 1; i <= cfg.Steps; i++ {
		skip[i] = true
	}
	left := cfg.Retries
	try := func(c Config, skip []bool) bool {
		left--
		r := newRun(c, skip)
		r.live()
		return r.broken != nil && r.broken.Same(found.broken)
	}
	for i, name := range events() {
		if left <= 0 || !found.used[i] || name == "sync" {
			continue
		}
		less := cfg
		less.Without = append(append([]string(nil), cfg.Without...), name)
		if try(less, skip) {
			cfg = less
		}
	}
	for size := max(1, found.step/2); ; size /= 2 {
		for at := 1; at <= cfg.Steps && left > 0; at += size {
			less := append([]bool(nil), skip...)
			changed := false
			for i := at; i < min(at+size, len(less)); i++ {
				changed = changed || !less[i]
				less[i] = true
			}
			if changed && try(cfg, less) {
				skip = less
			}
		}
		if size <= 1 {
			break
		}
	}
	return tell(cfg, skip, found)
}

// tell runs what was found once more and takes it down. A controller that depends on
// chance may do something else then.
func tell(cfg Config, skip []bool, found *run) *run {
	for range 3 {
		r := newRun(cfg, skip)
		r.tale = &tale{}
		r.live()
		if r.broken != nil && r.broken.Same(found.broken) {
			return r
		}
	}
	found.fickle = true
	found.tale = &tale{}
	return found
}
