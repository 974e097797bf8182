#!/usr/bin/env python3
"""Tests that reader.py objects to each wrong case: it changes what the cases say, one value at a time."""
import copy
import os
import sys

import reader


def wrong(case):
    """Copies of a case that say something else about what the reader checks."""
    at = max(i for i, w in enumerate(case["jobfate"]["writes"]) if w["verb"] == "status")

    def changed(change):
        copied = copy.deepcopy(case)
        change(copied["jobfate"], copied["jobfate"]["writes"][at]["status"])
        return copied

    conditions = case["jobfate"]["writes"][at]["status"].get("conditions") or []
    lists = [conditions + [{"type": "FailureTarget", "status": "True", "reason": "Other"}]]
    for i in (i for i, c in enumerate(conditions) if c["status"] == "True"):
        lists += [conditions[:i] + conditions[i + 1:],
                  conditions[:i] + [dict(conditions[i], status="False")] + conditions[i + 1:],
                  conditions[:i] + [dict(conditions[i], reason="Other")] + conditions[i + 1:]]
    for other in lists:
        yield changed(lambda _, status: status.update(conditions=other))
    failures = case["jobfate"].get("backoff", {}).get("failures", 0)
    for other in ({"failures": failures + 1}, {"failures": failures, "lastFailure": "1999-01-01T00:00:00Z"}):
        yield changed(lambda outcome, _: outcome.update(backoff=other))
    if case["snapshot"]["job"]["spec"].get("completionMode") == "Indexed":
        for field in ("completedIndexes", "failedIndexes"):
            yield changed(lambda _, status: status.update({field: (status.get(field) or "") + "9"}))
            if case["jobfate"]["writes"][at]["status"].get(field):
                yield changed(lambda _, status: status.update({field: ""}))


def main(folder):
    tried = accepted = 0
    for file, case in reader.read(folder):
        if reader.check(file, case) is None:
            continue
        for changed in wrong(case):
            tried += 1
            got, want = reader.check(file, changed)
            if got == want:
                accepted += 1
                print("accepted:", changed)
    print(f"the reader objects to {tried - accepted} of {tried} wrong cases")
    return 0 if tried > 1000 and not accepted else 1


if __name__ == "__main__":
    sys.exit(main(os.path.dirname(os.path.abspath(__file__))))
