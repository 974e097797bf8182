//go:build linux

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// asCommand is set in the environment of a process that is the command, not a test.
const asCommand = "TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		Main()
	}
	debug.SetGCPercent(simulationPercent) // most of the time goes to simulations
	os.Exit(m.Run())
}

// installed returns the path of a copy of this program, which is the command from now on. Other users
// may run the copy.
func installed(t *testing.T) string {
	t.Helper()
	t.Setenv(asCommand, "yes")
	program := Must(os.ReadFile("/proc/self/exe"))
	binary := filepath.Join(t.TempDir(), "jobfate")
	NoError(t, os.WriteFile(binary, program, 0o755))
	return binary
}

// TestProcess runs the command as a process: interrupted while it reads or simulates, and
// with a closed pipe.
func TestProcess(t *testing.T) {
	binary := installed(t)
	t.Run("Ctrl-C while it reads", func(t *testing.T) { interruptReading(t, binary, "explain") })
	t.Run("Ctrl-C while simulate reads", func(t *testing.T) { interruptReading(t, binary, "simulate") })
	t.Run("Ctrl-C while it simulates", func(t *testing.T) { interruptPlaying(t, binary) })
	t.Run("no input", func(t *testing.T) {
		out, err := exec.Command(binary, "explain").CombinedOutput() // reads the null device
		if want := "jobfate explain: standard input: the input is empty; want a Job and its pods\n"; err == nil || string(out) != want {
			t.Errorf("got %v and %q, want %q", err, out, want)
		}
	})
	t.Run("no permission", func(t *testing.T) { forbidden(t, binary) })
	t.Run("head", func(t *testing.T) {
		explain := append([]string{"explain", "--now", time.Unix(0, 0).UTC().Format(time.RFC3339)}, sampleFiles("failed-by-rule")...)
		for _, args := range [][]string{
			explain,
			{"simulate", simulated("job")},
			{"simulate", "--runs", "3", simulated("job")},
			{"simulate", "-o", "svg", "--against", simulated("other-job"), simulated("job")},
			{"validate", simulated("job")},
			{"indexes", "count", "1"},
		} {
			closedPipe(t, binary, args)
		}
	})
}

// interruptReading checks that Ctrl-C ends a command that waits for its input.
func interruptReading(t *testing.T, binary, command string) {
	var stderr bytes.Buffer
	cmd := exec.Command(binary, command)
	cmd.Stderr = &stderr
	in := Must(cmd.StdinPipe())
	NoError(t, cmd.Start())
	// This is more than a pipe holds: after the write, the command is reading.
	Must(io.WriteString(in, strings.Repeat("# a comment\n", 1<<17)))
	NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // reports the signal as an error
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGINT || stderr.Len() > 0 {
		t.Errorf("got %v and %q, want it to be ended by the signal, without output", cmd.ProcessState, stderr.String())
	}
}

// interruptPlaying interrupts a long simulation when it shows its progress, and checks the
// output.
func interruptPlaying(t *testing.T, binary string) {
	terminal, device := openTerminal(t)
	var stdout bytes.Buffer
	cmd := exec.Command(binary, "simulate", "--runs", "100000", "--scenario", simulated("chances"), simulated("job"))
	cmd.Env = append(os.Environ(), "TERM=xterm")
	cmd.Stdout, cmd.Stderr = &stdout, device
	NoError(t, cmd.Start())
	device.Close()
	var shown []byte
	buffer := make([]byte, 4096)
	for signalled := false; ; {
		n, err := terminal.Read(buffer)
		shown = append(shown, buffer[:n]...)
		if err != nil { // the other end is closed
			break
		}
		if !signalled {
			signalled = true
			NoError(t, cmd.Process.Signal(os.Interrupt))
		}
	}
	_ = cmd.Wait()
	Same(t, "the exit status", cmd.ProcessState.ExitCode(), exitInterrupted)
	if text := string(shown); !strings.Contains(text, " of 100000 runs, ") || !strings.HasSuffix(text, clearLine) {
		t.Errorf("the terminal shows %q, want progress that is cleared in the end", text)
	}
	checkPart(t, "stdout", stdout.String(), " of 100000 runs: ")
}

// openTerminal returns both ends of a pseudo terminal: the end of the user, and the device
// for a process.
func openTerminal(t *testing.T) (terminal, device *os.File) {
	t.Helper()
	terminal = Must(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))
	t.Cleanup(func() { terminal.Close() })
	control := func(request uintptr, value *uint32) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	var unlocked, number uint32
	control(syscall.TIOCSPTLCK, &unlocked)
	control(syscall.TIOCGPTN, &number)
	device = Must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0))
	return terminal, device
}

// forbidden checks the error about a file that must not be read. Root may read every file, so
// the command then runs as another user.
func forbidden(t *testing.T, binary string) {
	folder := filepath.Dir(binary)
	for _, path := range []string{filepath.Dir(folder), folder} {
		NoError(t, os.Chmod(path, 0o755))
	}
	secret := filepath.Join(folder, "secret.yaml")
	NoError(t, os.WriteFile(secret, []byte("kind: Job\n"), 0))
	for _, command := range []string{"explain", "validate", "simulate"} {
		cmd := exec.Command(binary, command, secret)
		cmd.Dir = folder
		if os.Getuid() == 0 {
			const unprivileged = 65534
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
		}
		out, _ := cmd.CombinedOutput() // the exit status is checked below
		want := fmt.Sprintf("jobfate %s: %s: permission denied\n", command, secret)
		if got := cmd.ProcessState.ExitCode(); got != exitInput || string(out) != want {
			t.Errorf("%s: got status %d and %q, want %d and %q", command, got, out, exitInput, want)
		}
	}
}

// closedPipe checks that a command ends without an error message if the reader has closed the
// pipe.
func closedPipe(t *testing.T, binary string, args []string) {
	var stderr bytes.Buffer
	reader, writer, err := os.Pipe()
	NoError(t, err)
	reader.Close()
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = writer, &stderr
	err = cmd.Run() // the exit status does not matter: a shell reports that of head
	writer.Close()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) || stderr.Len() > 0 {
		t.Errorf("%v: got %v and %q, want silence", args, err, stderr.String())
	}
}
