#!/usr/bin/env python3
"""Tests that reader.py objects to each wrong vector: it changes what the vectors say, one value at a time."""
import copy
import json
import os
import re
import sys

import reader


def others(value):
    """Values of the same form that say something else."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1]
    if re.match("[0-9]{4}-", value):
        return ["1999" + value[4:]]
    return [value + "1"]


def changes(holder):
    """Copies of an object with one value changed, or left out."""
    for at, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
        if at in reader.UNREAD:
            continue
        if isinstance(value, (dict, list)):
            replaced = list(changes(value))
        else:
            replaced = others(value)
        for other in replaced:
            changed = copy.copy(holder)
            changed[at] = other
            yield changed
        rest = copy.copy(holder)
        del rest[at]
        yield rest


def wrong(kind, vector):
    """Copies of a vector that say something else about what the reader checks."""
    if kind in reader.FUNCTIONS:
        for changed in changes(vector["jobfate"]):
            if changed.get("indexes") != vector["jobfate"].get("indexes") or kind != "readIndexes":
                yield dict(vector, jobfate=changed)
        return
    at = max(i for i, w in enumerate(vector["jobfate"]["writes"]) if w["verb"] == "status")
    conditions = vector["jobfate"]["writes"][at]["status"].get("conditions") or []
    holding = [i for i, c in enumerate(conditions) if c["status"] == "True"]
    lists = [conditions + [{"type": "FailureTarget", "status": "True", "reason": "Other"}]]
    for i in holding:
        lists += [conditions[:i] + conditions[i + 1:],
                  conditions[:i] + [dict(conditions[i], status="False")] + conditions[i + 1:],
                  conditions[:i] + [dict(conditions[i], reason="Other")] + conditions[i + 1:]]
    for changed in lists:
        copied = copy.deepcopy(vector)
        copied["jobfate"]["writes"][at]["status"]["conditions"] = changed
        yield copied


def main(folder):
    tried = accepted = 0
    for kind, vector in reader.read(folder):
        if reader.check(kind, vector) is None:
            continue
        for changed in wrong(kind, vector):
            tried += 1
            got, want = reader.check(kind, changed)
            if got == want:
                accepted += 1
                print("accepted:", json.dumps(changed))
    print(f"the reader objects to {tried - accepted} of {tried} wrong vectors")
    return 0 if tried > 1000 and not accepted else 1


if __name__ == "__main__":
    sys.exit(main(os.path.dirname(os.path.abspath(__file__))))
