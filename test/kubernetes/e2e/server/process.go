package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// stopTime is the longest time that a process may take to stop after SIGTERM.
const stopTime = 30 * time.Second

// Process is a child process. It is killed when the test binary ends for any reason.
type Process struct {
	Name string
	// LogFile holds the output of this process and of earlier ones of the same name.
	LogFile string

	cmd     *exec.Cmd
	done    chan struct{} // closed when the process has ended
	why     error         // how it ended; to be read once done is closed
	stopped atomic.Bool   // whether Kill, Stop or Freeze was called
}

// launch starts a process in a folder, with its log file there.
func launch(dir, name, path string, args ...string) (*Process, error) {
	p := &Process{Name: name, LogFile: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.why = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Kill ends the process at once (SIGKILL).
func (p *Process) Kill() {
	p.stopped.Store(true)
	_ = p.cmd.Process.Kill() // fails only if it has ended already
	<-p.done
}

// Stop sends SIGTERM and waits until the process has ended. A process that does not end is
// killed, which is an error.
func (p *Process) Stop() error {
	p.stopped.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTime):
		p.Kill()
		return fmt.Errorf("%s did not stop within %s of SIGTERM", p.Name, stopTime)
	}
}

// Freeze stops the process until Thaw. It may end by itself afterwards: a leader ends when it
// finds that it has lost the lease.
func (p *Process) Freeze() error {
	p.stopped.Store(true)
	return p.cmd.Process.Signal(syscall.SIGSTOP)
}

// Thaw resumes a frozen process.
func (p *Process) Thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// Pid returns the number of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns an error if the process has ended by itself.
func (p *Process) Err() error {
	select {
	case <-p.done:
		if !p.stopped.Load() {
			return fmt.Errorf("%s ended by itself: %v; its log: %s\n%s", p.Name, p.why, p.LogFile, p.Log("", 40))
		}
	default:
	}
	return nil
}

// Await retries until a function succeeds. It gives up after two minutes, or if one of the processes has ended; the
// first is the one that is to become ready.
func Await(ctx context.Context, try func(context.Context) error, processes ...*Process) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		last := try(ctx)
		if last == nil {
			return nil
		}
		var ended []error
		for _, p := range processes {
			ended = append(ended, p.Err())
		}
		if err := errors.Join(ended...); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w\n%s", last, processes[0].Log("", 40))
		case <-time.After(pollTime):
		}
	}
}

// Log returns the last lines of the log that contain a text.
func (p *Process) Log(text string, most int) string {
	all, err := os.ReadFile(p.LogFile)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for line := range bytes.Lines(all) {
		if bytes.Contains(line, []byte(text)) {
			lines = append(lines, string(line))
		}
	}
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return strings.Join(lines, "")
}

// Usage is the resource usage of a process.
type Usage struct {
	CPU    time.Duration // user and system
	MaxRSS int64         // bytes of memory, the most at any time
}

// Usage returns the usage of the process so far.
func (p *Process) Usage() (Usage, error) {
	process, err := procfs.NewProc(p.Pid())
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
