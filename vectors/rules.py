"""The rules of Jobs that reader.py checks vectors with, each with the sentence of the KEP or the API that decides. They
know nothing of jobfate."""
import datetime
import re

MAX = 2**31 - 1  # of an int32; also the largest number of completions
FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"


def instant(text):
    """A time as a number of nanoseconds."""
    year, month, day, hour, minute, second, fraction = re.fullmatch(
        r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)(?:\.(\d+))?Z", text).groups()
    # a calendar repeats after 400 years, and Python's has no year 0
    days = datetime.date(int(year) % 400 + 400, int(month), int(day)).toordinal() + int(year) // 400 * 146097
    seconds = ((days * 24 + int(hour)) * 60 + int(minute)) * 60 + int(second)
    return seconds * 10**9 + int((fraction or "").ljust(9, "0"))


ZERO = instant("0001-01-01T00:00:00Z")


def nanoseconds(text):
    """The same; None if there is no time."""
    return instant(text) if text and instant(text) != ZERO else None


def without(result, *fields):
    """A result without the fields that are None, and those that only jobfate returns or that are texts for people."""
    return {name: without(value, *fields) if isinstance(value, dict) else value
            for name, value in result.items() if name not in fields and value is not None}


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


def complement(a, n):
    out, start = [], 0
    for first, last in a + [[n, n]]:
        if start < min(first, n):
            out.append([start, min(first, n) - 1])
        start = last + 1
    return out


def few(a):
    return [i for first, last in a[:10] for i in range(first, min(last, first + 9) + 1)][:10]


def spelled(a):
    """API, JobStatus.completedIndexes: "The numbers are listed in increasing order. Three or more consecutive numbers
    are compressed and represented by the first and last element of the series, separated by a hyphen." """
    parts = []
    for first, last in a:
        parts += [f"{first}-{last}"] if last > first + 1 else [str(i) for i in range(first, last + 1)]
    return ",".join(parts)


def parse(text):
    """The set with a canonical text, or the first part that is not canonical and its offset."""
    numbers, offset = [], 0
    for part in text.split(",") if text else []:
        ends = [int(end) for end in part.split("-") if re.fullmatch("[0-9]+", end)]
        numbers = merged(numbers + [[ends[0], ends[-1]]]) if ends else []
        if not ends or ends[-1] >= MAX or spelled(numbers) != text[:offset + len(part)]:
            return [], {"fragment": part, "offset": offset}
        offset += len(part) + 1
    return numbers, None


def number(text, bits=64):
    """The value of a text; None if it is not a number of that many bits."""
    value = int(text) if re.fullmatch("[+-]?[0-9]+", text or "") else None
    return value if value is not None and -2**(bits - 1) <= value < 2**(bits - 1) else None


def read_status(text, completions):
    """The indexes in a status, which may be damaged: parts that are no numbers do not count. Indexes increase, so
    nothing counts from the first one on that is not below completions."""
    intervals = []
    for ends in (part.split("-") for part in text.split(",")):
        first, last = number(ends[0]), number(ends[min(1, len(ends) - 1)])
        if first is not None and first >= completions:
            break
        if first is not None and last is not None:
            intervals.append([max(first, 0), min(last, completions - 1)])
    return merged(i for i in intervals if i[0] <= i[1])


def check_spec(text, completions):
    """The indexes in a success policy, and what the API server says of the first part that is wrong.

    API, SuccessPolicyRule: "The list of indexes must be within 0 to .spec.completions-1 and must not contain
    duplicates. [...] The intervals can be a decimal integer or a pair of decimal integers separated by a hyphen." """
    intervals, previous, offset = [], -1, 0
    for part in text.split(",") if text else []:
        ends = part.split("-")
        wrong = {"fragment": part, "offset": offset}
        if len(ends) > 2:
            return [], wrong
        for end in ends:
            value = number(end)
            if value is None or value >= completions or value <= previous:
                return [], wrong
            previous = value
        intervals.append([int(ends[0]), int(ends[-1])])
        offset += len(part) + 1
    return merged(intervals), None


def sets(a, b, n):
    a, b = parse(a)[0], parse(b)[0]
    both, rest = intersection(a, b), complement(a, n)
    union = spelled(merged(a + b))
    return without({
        "union": union, "rebuilt": union, "intersection": spelled(both), "common": size(both), "equal": a == b,
        "difference": spelled(intersection(a, complement(b, MAX))), "complement": spelled(rest),
        "below": spelled(intersection(a, complement([], n))), "contains": size(intersection(a, [[n, n]])) == 1,
        "missing": few(rest) or None, "first": few(a) or None, "len": size(a),
        "min": a[0][0] if a else None, "max": a[-1][1] if a else None})


# Times.

def finish_time(pod):
    """KEP-3850: "the finish time for a pod as the first available value of: max finishAt of all containers, if
    specified for all containers; LastTransitionTime for the Ready=False condition; deletionTimestamp -
    deletionGracePeriodSeconds if deletionTimestamp is set. [...] we fallback to the pod's creation time." Sidecars, the
    init containers that restart always, end after the containers: their times are needed, and suffice."""
    meta, status = pod.get("metadata", {}), pod.get("status", {})
    if status.get("phase") not in ("Failed", "Succeeded") and not meta.get("deletionTimestamp"):
        return None
    init = pod.get("spec", {}).get("initContainers") or []
    sidecars = {c["name"] for c in init if c.get("restartPolicy") == "Always"}
    groups = [status.get("containerStatuses") or [],
              [c for c in status.get("initContainerStatuses") or [] if c["name"] in sidecars]]
    groups = [[nanoseconds((c["state"].get("terminated") or {}).get("finishedAt")) for c in g] for g in groups if g]
    if groups and None not in groups[-1]:
        return max(max(g) for g in groups if None not in g)
    ready = [c for c in status.get("conditions") or [] if c["type"] == "Ready"][:1]
    if ready and ready[0].get("status") == "False" and ready[0].get("lastTransitionTime"):
        return nanoseconds(ready[0]["lastTransitionTime"])
    if meta.get("deletionTimestamp"):
        return nanoseconds(meta["deletionTimestamp"]) - meta.get("deletionGracePeriodSeconds", 0) * 10**9
    return nanoseconds(meta.get("creationTimestamp"))


def delay(failures, base=0, cap=0, factor=0):
    """KEP-3850: "exponential backoff delay (10s, 20s, 40s ...)". It is at most ten minutes. A setting that is not
    positive has its default; the delay does not shrink."""
    base, cap = base if base > 0 else 10 * 10**9, cap if cap > 0 else 600 * 10**9
    factor = max(factor or 2, 1)
    wait = base if failures > 0 else 0
    for _ in range(min(failures - 1, 10**6)):
        if wait >= cap or factor == 1:
            break
        wait *= factor
    return int(min(wait, cap))


def remaining(failures, last, now, **policy):
    """KEP-3850: "counted from the last failure time"."""
    wait = delay(failures, **policy) - (instant(now) - instant(last))
    return min(max(0, wait), 2**63 - 1) if failures > 0 else 0


def record(failures, last, succeeded, failed):
    """The failures in a row and the time of the last, after more pods have finished. KEP-3850: "the time of last
    failure is recorded in-memory (globally for all pods within a Job)". A success ends the row."""
    if succeeded:
        failures, last, failed = 0, ZERO, [t for t in failed if t > max(succeeded)]
    return (min(failures + len(failed), MAX), max(failed)) if failed else (failures, last)


# The failures of pods.

def restarts(pods):
    """With the restart policy OnFailure, containers restart in their pod, and each restart counts."""
    return sum(c.get("restartCount", 0) for pod in pods if pod.get("status", {}).get("phase") in ("Running", "Pending")
               for kind in ("containerStatuses", "initContainerStatuses") for c in pod["status"].get(kind) or [])


def restarts_exceeded(count, limit):
    """API, JobSpec.backoffLimit: "the number of retries before marking this job failed". With restarts in the pods, the
    Job fails at the limit, not above it."""
    return count > 0 if limit == 0 else count >= limit


def counts(annotations, ignored):
    """KEP-3850: "if x is the highest batch.kubernetes.io/job-index-failure-count for the index, the newly created pod
    will have the annotation set to x+1. An exception is when the newly failed pod matches the Ignore action". """
    failures, other = (max(number(annotations.get(key), 32) or 0, 0) for key in (FAILURES, IGNORED))
    return (failures, min(other + 1, MAX)) if ignored else (min(failures + 1, MAX), other)


def index_of(pod):
    """The completion index in the annotation of a pod; None if there is none."""
    index = number(pod.get("metadata", {}).get("annotations", {}).get(INDEX))
    return min(index, MAX) if index is not None and index >= 0 else None


def match(policy, pod):
    """The position of the first rule that matches a failed pod, and what about the pod matches.

    API, PodFailurePolicy: "The rules are evaluated in order. Once a rule matches a Pod failure, the remaining of the
    rules are ignored." """
    status = pod.get("status", {})
    containers = (status.get("containerStatuses") or []) + (status.get("initContainerStatuses") or [])
    for at, rule in enumerate((policy or {}).get("rules") or []):
        if rule.get("action") not in ("FailJob", "FailIndex", "Ignore", "Count"):
            continue  # "Clients should react to an unknown action by skipping the rule."
        codes = rule.get("onExitCodes")
        if codes:
            for c in containers:
                ended = c.get("state", {}).get("terminated")
                # "Containers completed with success (exit code 0) are excluded from the requirement check."
                if not ended or not ended.get("exitCode") or codes.get("containerName") not in (None, c["name"]):
                    continue
                within = ended["exitCode"] in (codes.get("values") or [])
                # "Clients should react to an unknown operator by assuming the requirement is not satisfied."
                if codes["operator"] in (("In",) if within else ("NotIn",)):
                    return at, f"Container {c['name']} for pod {{}} failed with exit code {ended['exitCode']}"
        else:
            # "The requirement is satisfied if at least one pattern matches an actual pod condition."
            for pattern in rule.get("onPodConditions") or []:
                for c in status.get("conditions") or []:
                    if (c["type"], c["status"]) == (pattern["type"], pattern.get("status", "True")):
                        return at, f"Pod {{}} has condition {c['type']}"
    return None, ""


def failure_policy(policy, pod):
    at, what = match(policy, pod)
    if at is None:
        return {"counts": True}
    action = policy["rules"][at]["action"]
    name = f"{pod['metadata'].get('namespace', '')}/{pod['metadata'].get('name', '')}"
    message = what.format(name) + f" matching FailJob rule at index {at}" if action == "FailJob" else None
    return without({"action": action, "counts": action != "Ignore", "rule": at, "message": message})


def success_rule(policy, completions, completed):
    """API, SuccessPolicy: "these rules are evaluated in order; Once the Job meets one of the rules, other rules are
    ignored." SuccessPolicyRule: "When succeededCount is used along with succeededIndexes, the check is constrained only
    to the set of indexes specified by succeededIndexes." """
    for at, rule in enumerate((policy or {}).get("rules") or []):
        indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        wanted = [[0, MAX]] if indexes is None else check_spec(indexes, completions)[0]
        done = intersection(completed, wanted)
        # the count "needs to be a positive integer", and of the indexes "at least one element is required"
        if size(done) >= max(size(wanted) if count is None else count, 1):
            return at
    return None


# The end of a Job.

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


def conditions(case):
    """The conditions that a sync leaves, with their reasons. KEP-3329 and KEP-3998 have the interim condition that
    decides how a Job ends; the terminal one follows once no pod of the Job is left active or terminating."""
    snapshot, options = case["snapshot"], case.get("options", {})
    job = snapshot["job"]
    spec, status = job["spec"], job.get("status", {})
    stored = {c["type"]: c for c in status.get("conditions") or []}
    now = {kind: c.get("reason", "") for kind, c in stored.items() if c.get("status") == "True"}
    pods = [p for p in snapshot.get("pods") or [] if belongs(p, job)]
    terminating = [p for p in pods if unfinished(p) and p["metadata"].get("deletionTimestamp")]
    active = [p for p in pods if unfinished(p) and p not in terminating]
    kind, reason = next(((k, now[k]) for k in ("SuccessCriteriaMet", "FailureTarget") if k in now), (None, None))
    if not kind:
        kind, reason = end(snapshot, spec, status, options, pods, active)
    if kind:
        now[kind] = reason
        if not active and not terminating:
            now["Complete" if kind == "SuccessCriteriaMet" else "Failed"] = reason
    elif not job["metadata"].get("deletionTimestamp"):
        if spec.get("suspend"):
            now["Suspended"] = now.get("Suspended") or "JobSuspended"
        else:
            now.pop("Suspended", None)
    return now


def unfinished(pod):
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def end(snapshot, spec, status, options, pods, active):
    """The condition that decides how a Job ends, and its reason."""
    # Kubernetes' page on Jobs: "When both are unset, both are defaulted to 1."
    completions = spec.get("completions", 1 if spec.get("parallelism") is None else None)
    indexed = spec.get("completionMode") == "Indexed"
    limit_per_index = spec.get("backoffLimitPerIndex") if not options.get("withoutPerIndex") else None
    policy = spec.get("podFailurePolicy")
    listed = status.get("uncountedTerminatedPods") or {}
    listed = {kind: set(listed.get(kind) or []) for kind in ("succeeded", "failed")}
    failed, succeeded = (status.get(kind, 0) + len(listed[kind]) for kind in ("failed", "succeeded"))
    done = read_status(status.get("completedIndexes", ""), completions or 0)
    lost = read_status(status.get("failedIndexes") or "", completions or 0) if limit_per_index is not None else []
    # API, PodReplacementPolicy: "Failed means to wait until a previously created Pod is fully terminated".
    waits = policy or spec.get("podReplacementPolicy") == "Failed" and not options.get("withoutReplacement")
    fails_job = False
    for pod in pods:
        meta, index = pod["metadata"], index_of(pod)
        has_succeeded = pod.get("status", {}).get("phase") == "Succeeded"
        has_failed = pod.get("status", {}).get("phase") == "Failed"
        has_failed = has_failed or not has_succeeded and not waits and bool(meta.get("deletionTimestamp"))
        rule = match(policy, pod)[0] if has_failed else None
        action = policy["rules"][rule]["action"] if rule is not None else "Count"
        fails_job = fails_job or action == "FailJob"
        # KEP-2307: a pod counts as long as it has the finalizer, which comes with an adoption
        if owned(pod) and FINALIZER not in (meta.get("finalizers") or []):
            continue
        if indexed and (index is None or index >= completions):
            continue
        if has_succeeded:
            succeeded += meta["uid"] not in listed["failed"] | listed["succeeded"]
            done = merged(done + [[index, index]]) if indexed else done
        elif has_failed:
            failed += meta["uid"] not in listed["failed"] and action != "Ignore"
            count = max(number((meta.get("annotations") or {}).get(FAILURES), 32) or 0, 0)
            # KEP-3850: "the value of the annotation [...] is greater or equal to the configured backoff limit per
            # index"
            if limit_per_index is not None and (
                    action == "FailIndex" or action != "Ignore" and count >= limit_per_index):
                lost = merged(lost + [[index, index]])
    lost = intersection(lost, complement(done, MAX))
    # KEP-3850: "when .spec.backoffLimitPerIndex is specified, then we default .spec.backoffLimit to max int32 value"
    limit = spec.get("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else MAX)
    on_failure = (spec.get("template", {}).get("spec") or {}).get("restartPolicy") == "OnFailure"
    started = instant(status.get("startTime") or snapshot["now"])
    # The pods that still run are deleted, unless they share a work queue, or the Job itself is being deleted.
    stay = snapshot["job"]["metadata"].get("deletionTimestamp") or completions is None and not spec.get("suspend")
    for holds, kind, reason in (
            (fails_job, "FailureTarget", "PodFailurePolicy"),
            (failed > limit or on_failure and restarts_exceeded(restarts(pods), limit),
             "FailureTarget", "BackoffLimitExceeded"),
            # "If a Job is suspended [...], this timer will effectively be stopped".
            ("activeDeadlineSeconds" in spec and not spec.get("suspend") and
             instant(snapshot["now"]) - started >= spec["activeDeadlineSeconds"] * 10**9,
             "FailureTarget", "DeadlineExceeded"),
            # KEP-3850: "The Failed condition is added once all indexes completed their execution (either failed or
            # succeeded), or when the number of failed indexes exceeds the specified .spec.maxFailedIndexes."
            (limit_per_index is not None and size(lost) > spec.get("maxFailedIndexes", MAX),
             "FailureTarget", "MaxFailedIndexesExceeded"),
            (lost and size(lost) + size(done) >= completions, "FailureTarget", "FailedIndexes"),
            (indexed and success_rule(spec.get("successPolicy"), completions, done) is not None,
             "SuccessCriteriaMet", "SuccessPolicy"),
            # "null means that the success of any pod signals the success of all pods"
            ((size(done) if indexed else succeeded) >= (1 if completions is None else completions) and
             not (active and stay), "SuccessCriteriaMet", "CompletionsReached")):
        if holds:
            return kind, reason
    return None, None
