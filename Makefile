# Each folder with a go.mod is a module. The main module is the library alone.
modules := $(shell find . -name go.mod -not -path '*/.*' -not -path '*/testdata/*' -exec dirname {} \; | sort)

# The folders of tests that do not build a Kubernetes server, as test/kubernetes/e2e does, or other projects.
light := $(filter-out ./test/adopters ./test/kubernetes,$(modules)) test/kubernetes/bench test/kubernetes/conformance

.PHONY: test verify quick fuzz golden vectors bench compare mutate soak suites adopters releases release

# Runs the tests in these folders.
test:
	.ci/test $(light)

# Runs everything that a change must pass.
verify:
	.ci/run

# Runs the first stages of verify, in two minutes: format, vet, lint, the tests of the main module, documents.
quick:
	.ci/run quick

# Runs each fuzz target for that time: make fuzz TIME=1m.
TIME ?= 10s
fuzz:
	.ci/fuzz $(TIME)

# Accepts the current output of the command, draws the picture of the packages, and lists the
# API.
golden:
	go -C cmd test ./internal/cli ./diagnose -update
	go -C tools test ./repository -update

# Runs jobfate and the real controller on the inputs of all vectors again, and rewrites the files. Cases with
# a gate off stay as they are: 1.37 does not have the gates, and 1.36.5 does.
#   go -C test/kubernetes run ./conformance/suites test 1.36.5 ./conformance/sync -run TestMakeVectors -vectors
vectors:
	go -C test/kubernetes test ./conformance/sync -run TestMakeVectors -vectors

# Runs the checks of docs/reliability.md for longer: five hours on two cores. Two large searches
# run at a time, which takes 20 GiB of memory.
soak:
	GOMEMLIMIT=18GiB go -C jobtest test ./explore -timeout 0 -run TestEverything -states 60000
	GOMEMLIMIT=18GiB go -C jobtest test ./explore -timeout 0 -run 'TestEverything/^killed$$/^(regular|indexed|no_retry|one_at_a_time)$$' -states 5000000
	GOMEMLIMIT=18GiB go -C jobtest test ./explore -timeout 0 -run 'TestEverything/^one_fault$$/^(no_retry|one_at_a_time|indexed,_one_at_a_time)$$' -states 5000000
	GOMEMLIMIT=18GiB go -C jobtest test ./explore -timeout 0 -run 'TestEverything/^two_faults,_small$$/^(regular|indexed|no_retry)$$' -states 5000000
	go -C jobtest test ./chaos -timeout 0 -run TestSchedules -schedules 1000000
	go -C jobtest test ./decisions -timeout 0 -run TestMachine_isLikeDecide -rapid.checks 2000000
	go -C examples test ./adopting -timeout 0 -run TestReconcilerSchedules -chaos.schedules 100000
	go -C controller test . -timeout 0 -run '^TestSchedules$$' -chaos.schedules 100000
	go -C examples test ./jobgroup -timeout 0 -run '^TestSchedules$$' -chaos.schedules 100000
	go -C test/kubernetes test ./conformance/sync -timeout 0 -decisions 5000000 -lives 100000
	.ci/fuzz 10000000x
	go -C test/kubernetes test ./e2e/restart -timeout 0 -jobs 600,3000 -workers 1,5
	go -C test/kubernetes test ./e2e/scenario ./e2e/metrics ./e2e/operate -timeout 0 -kubernetes 1.38.0-beta.0
	$(MAKE) suites releases

# Runs Kubernetes' own tests of the Job controller, each three times, in an hour. The results
# must be those in docs/compatibility.md.
suites:
	go -C test/kubernetes run ./conformance/suites -times 3 unit
	go -C test/kubernetes run ./conformance/suites -times 3 integration
	go -C test/kubernetes run ./conformance/suites integration 1.36.5

# Runs the unit tests of other projects with jobfate inside. The results must be those in docs/replace.md.
# The first run builds the projects, which takes a quarter of an hour.
adopters:
	go -C test/adopters run ./adopt -servers

# Compares jobfate with other releases of Kubernetes. The first run builds them, which takes
# half an hour.
releases:
	go -C test/kubernetes run ./conformance/suites releases

# Compares the speed of jobfate with that of the real controller and others:
# docs/performance.md. It also appends the samples of the rows to a file.
DATA ?= $(CURDIR)/bench.out
bench:
	@go -C test/kubernetes/bench run . -data $(abspath $(DATA))

# Compares the speed with that of the last commit, or of the commit where a branch left main, and
# fails if benchstat finds a row slower: make compare BASE=v0.1.0.
compare: export BASE := $(BASE)
compare:
	.ci/compare long

# Introduces small mistakes into the packages that decide, and checks that a test fails. It
# takes some hours on two cores: less than a second for most mutants, half a minute for those that
# the tests of their package do not detect. tools/mutate/survivors.txt explains the mutants that no
# test detects.
mutate:
	go -C tools run ./mutate $(shell cat tools/lint/deciding.txt)

# Makes a release of all modules for all platforms, twice, compares the bytes, and uses it as its
# users do: make release VERSION=v0.1.0 OUT=/tmp/release. docs/releases.md says what is in the folder.
setting = $(shell sed -n 's/^$(1)=//p' .ci/run)
newest := $(call setting,newest)
release: export GOTOOLCHAIN = $(call setting,newest_go)
release:
	@test "$(VERSION)" && test "$(OUT)" || { echo "usage: make release VERSION=v0.1.0 OUT=/tmp/release"; exit 2; }
	go -C tools run ./release -version $(VERSION) -out $(OUT)-again
	go -C tools run ./release -version $(VERSION) -out $(OUT) -rehearse -newest "$(patsubst %,k8s.io/%@$(newest),api apimachinery client-go) sigs.k8s.io/controller-runtime@$(call setting,newest_runtime)"
	for folder in proxy files; do diff -r $(OUT)/$$folder $(OUT)-again/$$folder || exit 1; done
	chmod -R u+w $(OUT)-again && rm -rf $(OUT)-again
