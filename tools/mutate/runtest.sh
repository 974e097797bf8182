#!/bin/sh
# Runs a test binary on a mutant: with the same draws each time, without shrinking
# what fails or writing it to a file, and not with all of the machine's memory.
ulimit -v 8388608
if grep -q 'rapid\.seed' "$1"; then
	set -- "$@" -rapid.seed=1 -rapid.nofailfile -rapid.shrinktime=1ns
fi
exec "$@"
