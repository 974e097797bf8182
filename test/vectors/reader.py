#!/usr/bin/env python3
"""Reads the cases without jobfate.

    python3 reader.py [FOLDER]

It computes what a sync leaves, from sentences of the KEPs and the API: the conditions and their reasons, the completed
and the failed indexes, and the failures to remember. It prints how many cases of each file it checked, and fails if one
says something else.
"""
import collections
import datetime
import glob
import json
import os
import re
import sys

FILES = ("plain", "indexed", "per-index", "failure-policy", "success-policy", "ending")
MAX = 2**31 - 1  # of an int32; also the largest number of completions
FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"


def instant(text):
    """A time as a number of nanoseconds; 0 if there is no time."""
    if not text:
        return 0
    year, month, day, hour, minute, second, fraction = re.fullmatch(
        r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)(?:\.(\d+))?Z", text).groups()
    days = datetime.date(int(year), int(month), int(day)).toordinal() - 1
    seconds = ((days * 24 + int(hour)) * 60 + int(minute)) * 60 + int(second)
    return seconds * 10**9 + int((fraction or "").ljust(9, "0"))


# Sets of indexes. A set is a sorted list of intervals [first, last], disjoint and not adjacent.

def merged(intervals):
    out = []
    for first, last in sorted(intervals):
        if out and first <= out[-1][1] + 1:
            out[-1][1] = max(out[-1][1], last)
        else:
            out.append([first, last])
    return out


def size(a):
    return sum(last - first + 1 for first, last in a)


def intersection(a, b):
    return merged([max(p[0], q[0]), min(p[1], q[1])] for p in a for q in b if p[0] <= q[1] and q[0] <= p[1])


def complement(a):
    out, start = [], 0
    for first, last in a + [[MAX, MAX]]:
        if start < first:
            out.append([start, first - 1])
        start = last + 1
    return out


def spelled(a):
    """API, JobStatus.completedIndexes: "The numbers are listed in increasing order. Three or more consecutive numbers
    are compressed and represented by the first and last element of the series, separated by a hyphen." """
    parts = []
    for first, last in a:
        parts += [f"{first}-{last}"] if last > first + 1 else [str(i) for i in range(first, last + 1)]
    return ",".join(parts)


def number(text, bits=64):
    """The value of a text; None if it is not a number of that many bits."""
    value = int(text) if re.fullmatch("[+-]?[0-9]+", text or "") else None
    return value if value is not None and -2**(bits - 1) <= value < 2**(bits - 1) else None


def parsed(text, completions):
    """The indexes in a status, which may be damaged: parts that are no numbers do not count. Indexes increase, so
    nothing counts from the first one on that is not below completions."""
    intervals = []
    for ends in (part.split("-") for part in (text or "").split(",")):
        first, last = number(ends[0]), number(ends[min(1, len(ends) - 1)])
        if first is not None and first >= completions:
            break
        if first is not None and last is not None:
            intervals.append([max(first, 0), min(last, completions - 1)])
    return merged(i for i in intervals if i[0] <= i[1])


# The pods of a Job.

def owned(pod):
    return any(o.get("controller") for o in pod["metadata"].get("ownerReferences") or [])


def belongs(pod, job):
    """KEP-2307: the Job's pods have its controller reference, its UID and name, and match its selector; "adopted Pods"
    match it, and have no controller."""
    meta, of, selector = pod["metadata"], job["metadata"], job["spec"].get("selector", {})
    if any((meta.get("labels") or {}).get(k) != v for k, v in (selector.get("matchLabels") or {}).items()):
        return False
    if owned(pod):
        return any(o.get("controller") and o["uid"] == of["uid"] and o["name"] == of["name"]
                   for o in meta["ownerReferences"])
    return not meta.get("deletionTimestamp") and not of.get("deletionTimestamp")


def phase(pod):
    return pod.get("status", {}).get("phase")


def deleted(pod):
    return bool(pod["metadata"].get("deletionTimestamp"))


def index_of(pod):
    """The completion index in the annotation of a pod; None if there is none."""
    index = number((pod["metadata"].get("annotations") or {}).get(INDEX))
    return index if index is not None and index >= 0 else None


def finish_time(pod):
    """KEP-3850: "the finish time for a pod as the first available value of: max finishAt of all containers, if
    specified for all containers; LastTransitionTime for the Ready=False condition; deletionTimestamp -
    deletionGracePeriodSeconds if deletionTimestamp is set. [...] we fallback to the pod's creation time." Sidecars, the
    init containers that restart always, end after the containers: their times are needed, and suffice."""
    meta, status = pod["metadata"], pod.get("status", {})
    init = pod.get("spec", {}).get("initContainers") or []
    sidecars = {c["name"] for c in init if c.get("restartPolicy") == "Always"}
    groups = [status.get("containerStatuses") or [],
              [c for c in status.get("initContainerStatuses") or [] if c["name"] in sidecars]]
    groups = [[instant((c["state"].get("terminated") or {}).get("finishedAt")) for c in g] for g in groups if g]
    if groups and 0 not in groups[-1]:
        return max(max(g) for g in groups if 0 not in g)
    ready = [c for c in status.get("conditions") or [] if c["type"] == "Ready"][:1]
    if ready and ready[0].get("status") == "False" and ready[0].get("lastTransitionTime"):
        return instant(ready[0]["lastTransitionTime"])
    if deleted(pod):
        return instant(meta["deletionTimestamp"]) - meta.get("deletionGracePeriodSeconds", 0) * 10**9
    return instant(meta.get("creationTimestamp"))


def past_limit(pods, limit):
    """API, JobSpec.backoffLimit: "the number of retries before marking this job failed". With the restart policy
    OnFailure, containers restart in their pod, and the Job fails at the limit, not above it."""
    restarts = sum(c.get("restartCount", 0) for pod in pods if phase(pod) in ("Running", "Pending")
                   for kind in ("containerStatuses", "initContainerStatuses") for c in pod["status"].get(kind) or [])
    return restarts >= max(limit, 1)


def action(policy, pod):
    """The action of the first rule that matches a failed pod.

    API, PodFailurePolicy: "The rules are evaluated in order. Once a rule matches a Pod failure, the remaining of the
    rules are ignored. When no rule matches the Pod failure, the default handling applies". """
    status = pod.get("status", {})
    containers = (status.get("containerStatuses") or []) + (status.get("initContainerStatuses") or [])
    for rule in (policy or {}).get("rules") or []:
        codes = rule.get("onExitCodes")
        for c in containers if codes else []:
            code = (c.get("state", {}).get("terminated") or {}).get("exitCode")
            # "Containers completed with success (exit code 0) are excluded from the requirement check."
            if code and codes.get("containerName") in (None, c["name"]):
                if (code in codes["values"]) == (codes["operator"] == "In"):
                    return rule["action"]
        # "The requirement is satisfied if at least one pattern matches an actual pod condition."
        for pattern in rule.get("onPodConditions") or []:
            for c in status.get("conditions") or []:
                if (c["type"], c["status"]) == (pattern["type"], pattern.get("status", "True")):
                    return rule["action"]
    return "Count"


# A sync.

class Sync:
    """The input of a sync, and what its pods say."""

    def __init__(self, case):
        self.now, self.options, self.job = case["snapshot"]["now"], case.get("options", {}), case["snapshot"]["job"]
        self.spec, self.status = self.job["spec"], self.job.get("status", {})
        self.pods = [p for p in case["snapshot"].get("pods") or [] if belongs(p, self.job)]
        # Kubernetes' page on Jobs: "When both are unset, both are defaulted to 1."
        self.completions = self.spec.get("completions", 1 if self.spec.get("parallelism") is None else None)
        self.indexed = self.spec.get("completionMode") == "Indexed"
        self.per_index = None if self.options.get("withoutPerIndex") else self.spec.get("backoffLimitPerIndex")
        self.done = parsed(self.status.get("completedIndexes"), self.completions or 0)
        self.lost = []
        if self.per_index is not None:
            self.lost = parsed(self.status.get("failedIndexes"), self.completions or 0)
        self.fails_job = False
        self.new = {"succeeded": [], "failed": []}  # when pods finished that no sync has seen
        listed = self.status.get("uncountedTerminatedPods") or {}
        self.listed = {kind: set(listed.get(kind) or []) for kind in self.new}
        self.succeeded, self.failed = (self.status.get(kind, 0) + len(self.listed[kind]) for kind in self.new)
        for pod in self.pods:
            self.count(pod)
        self.lost = intersection(self.lost, complement(self.done))

    def failing(self, pod):
        """API, PodReplacementPolicy: "Failed means to wait until a previously created Pod is fully terminated"; else
        a pod fails as soon as it is deleted."""
        waits = self.spec.get("podFailurePolicy") is not None or (
            self.spec.get("podReplacementPolicy") == "Failed" and not self.options.get("withoutReplacement"))
        return phase(pod) == "Failed" or phase(pod) != "Succeeded" and not waits and deleted(pod)

    def count(self, pod):
        """Takes a pod into account."""
        uid, index, failing = pod["metadata"]["uid"], index_of(pod), self.failing(pod)
        does = action(self.spec.get("podFailurePolicy"), pod) if failing else ""
        self.fails_job = self.fails_job or does == "FailJob"
        # KEP-2307: a pod counts as long as it has the finalizer, which comes with an adoption
        if owned(pod) and FINALIZER not in (pod["metadata"].get("finalizers") or []):
            return
        if self.indexed and (index is None or index >= self.completions):
            return
        fresh = uid not in self.listed["succeeded"] | self.listed["failed"]
        if phase(pod) == "Succeeded":
            self.succeeded += fresh
            self.done = merged(self.done + [[index, index]]) if self.indexed else self.done
            self.new["succeeded"] += [finish_time(pod)] * fresh
        elif failing:
            self.failed += uid not in self.listed["failed"] and does != "Ignore"
            self.new["failed"] += [finish_time(pod)] * fresh
            failures = max(number((pod["metadata"].get("annotations") or {}).get(FAILURES), 32) or 0, 0)
            # KEP-3850: "the value of the annotation [...] is greater or equal to the configured backoff limit per
            # index"
            if self.per_index is not None and (
                    does == "FailIndex" or does != "Ignore" and failures >= self.per_index):
                self.lost = merged(self.lost + [[index, index]])

    def unfinished(self, terminating):
        return [p for p in self.pods if phase(p) not in ("Succeeded", "Failed") and deleted(p) == terminating]

    def conditions(self):
        """The conditions that the sync leaves, with their reasons. KEP-3329 and KEP-3998 have the interim condition
        that decides how a Job ends; the terminal one follows once no pod is active or terminating."""
        now = {c["type"]: c.get("reason", "") for c in self.status.get("conditions") or [] if c.get("status") == "True"}
        kind = next((k for k in ("SuccessCriteriaMet", "FailureTarget") if k in now), None)
        if not kind:
            kind, reason = self.end()
            now.update({kind: reason} if kind else {})
        if kind:
            if not self.unfinished(False) and not self.unfinished(True):
                now["Complete" if kind == "SuccessCriteriaMet" else "Failed"] = now[kind]
        elif not deleted(self.job):
            if self.spec.get("suspend"):
                now["Suspended"] = now.get("Suspended") or "JobSuspended"
            else:
                now.pop("Suspended", None)
        return now

    def success_rule(self):
        """Reports whether a rule is met. API, SuccessPolicyRule: "When succeededCount is used along with
        succeededIndexes, the check is constrained only to the set of indexes specified by succeededIndexes." """
        for rule in (self.spec.get("successPolicy") or {}).get("rules") or []:
            indexes = rule.get("succeededIndexes")
            wanted = [[0, MAX]] if indexes is None else parsed(indexes, self.completions)
            # the count "needs to be a positive integer", and of the indexes "at least one element is required"
            if size(intersection(self.done, wanted)) >= max(rule.get("succeededCount", size(wanted)), 1):
                return True
        return False

    def end(self):
        """The condition that decides how the Job ends, and its reason."""
        spec, suspended = self.spec, self.spec.get("suspend")
        # KEP-3850: "when .spec.backoffLimitPerIndex is specified, then we default .spec.backoffLimit to max int32"
        limit = spec.get("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else MAX)
        on_failure = (spec.get("template", {}).get("spec") or {}).get("restartPolicy") == "OnFailure"
        running = instant(self.now) - instant(self.status.get("startTime") or self.now)
        # The pods that still run are deleted, unless they share a work queue, or the Job itself is being deleted.
        stay = deleted(self.job) or self.completions is None and not suspended
        # "null means that the success of any pod signals the success of all pods"
        wanted = 1 if self.completions is None else self.completions
        for holds, kind, reason in (
                (self.fails_job, "FailureTarget", "PodFailurePolicy"),
                (self.failed > limit or on_failure and past_limit(self.pods, limit),
                 "FailureTarget", "BackoffLimitExceeded"),
                # "If a Job is suspended [...], this timer will effectively be stopped".
                ("activeDeadlineSeconds" in spec and not suspended and
                 running >= spec["activeDeadlineSeconds"] * 10**9, "FailureTarget", "DeadlineExceeded"),
                # KEP-3850: "The Failed condition is added once all indexes completed their execution (either failed or
                # succeeded), or when the number of failed indexes exceeds the specified .spec.maxFailedIndexes."
                (self.per_index is not None and size(self.lost) > spec.get("maxFailedIndexes", MAX),
                 "FailureTarget", "MaxFailedIndexesExceeded"),
                (self.lost and size(self.lost) + size(self.done) >= self.completions, "FailureTarget", "FailedIndexes"),
                (self.indexed and self.success_rule(), "SuccessCriteriaMet", "SuccessPolicy"),
                ((size(self.done) if self.indexed else self.succeeded) >= wanted and
                 not (self.unfinished(False) and stay), "SuccessCriteriaMet", "CompletionsReached")):
            if holds:
                return kind, reason
        return None, None

    def remembered(self, failures, last):
        """The failures in a row, and the time of the last. KEP-3850: "the time of last failure is recorded in-memory
        (globally for all pods within a Job)". A success ends the row."""
        failed = self.new["failed"]
        if self.new["succeeded"]:
            failures, last, failed = 0, 0, [t for t in failed if t > max(self.new["succeeded"])]
        return [min(failures + len(failed), MAX), max(failed, default=last)]


def record(holder):
    backoff = holder.get("backoff", {})
    return backoff.get("failures", 0), instant(backoff.get("lastFailure"))


def check(file, case):
    """What the reader says and what the case says; None if the reader does not check such cases."""
    written = [w["status"] for w in case.get("jobfate", {}).get("writes", []) if w["verb"] == "status"]
    kinds = [c["type"] for c in case["snapshot"]["job"].get("status", {}).get("conditions") or []]
    if file not in FILES or not written or len(kinds) > len(set(kinds)):  # a condition that is there twice
        return None
    sync, left = Sync(case), written[-1]
    says = {c["type"]: c.get("reason", "") for c in left.get("conditions") or [] if c["status"] == "True"}
    answer = [sync.conditions(), sync.remembered(*record(case["snapshot"]))]
    want = [says, list(record(case["jobfate"]))]
    if sync.indexed:
        answer += [spelled(sync.done), spelled(sync.lost)]
        want += [left.get("completedIndexes", ""), left.get("failedIndexes") or ""]
    return answer, want


def read(folder):
    """The cases with the names of their files."""
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                yield os.path.basename(path).removesuffix(".jsonl"), json.loads(line)


def main(folder):
    checked, left, wrong = collections.Counter(), collections.Counter(), 0
    for file, case in read(folder):
        answer = check(file, case)
        (left if answer is None else checked)[file] += 1
        if answer and answer[0] != answer[1]:
            wrong += 1
            print(f"{case['id']}: the case says {answer[1]}, and the rules say {answer[0]}")
    for what, count in (("checked", checked), ("not checked", left)):
        print(f"{what}: {sum(count.values())} cases:", ", ".join(f"{n} {file}" for file, n in sorted(count.items())))
    return f"{wrong} cases are wrong" if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))))
