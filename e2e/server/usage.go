package server

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of times in /proc: USER_HZ is 100 on every platform of Go.
const clockTick = time.Second / 100

// Usage is the resource usage of a process.
type Usage struct {
	CPU    time.Duration // user and system
	MaxRSS int64         // bytes of memory, the most at any time
}

// Usage returns the usage of the process so far, or until its end.
func (p *Process) Usage() (Usage, error) {
	select {
	case <-p.done:
		state := p.cmd.ProcessState
		rusage := state.SysUsage().(*syscall.Rusage)
		return Usage{CPU: state.UserTime() + state.SystemTime(), MaxRSS: rusage.Maxrss * 1024}, nil
	default:
		return runningUsage(p.cmd.Process.Pid)
	}
}

func runningUsage(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	// The second field, the name in brackets, may contain spaces; utime and stime are fields 14
	// and 15.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return Usage{}, fmt.Errorf("/proc/%d/stat has only %d fields", pid, len(fields)+2)
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Usage{}, err
		}
		ticks += n
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	peak, _, _ = strings.Cut(peak, " kB")
	kb, err := strconv.ParseInt(strings.TrimSpace(peak), 10, 64)
	if err != nil {
		return Usage{}, fmt.Errorf("the VmHWM of process %d: %w", pid, err)
	}
	return Usage{CPU: time.Duration(ticks) * clockTick, MaxRSS: kb * 1024}, nil
}
