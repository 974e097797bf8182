package server

import (
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

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
	process, err := procfs.NewProc(pid)
	if err != nil {
		return Usage{}, err
	}
	stat, err := process.Stat()
	if err != nil {
		return Usage{}, err
	}
	status, err := process.NewStatus()
	return Usage{CPU: time.Duration(stat.CPUTime() * float64(time.Second)), MaxRSS: int64(status.VmHWM)}, err
}
