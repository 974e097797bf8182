#!/usr/bin/env python3
"""Reads the vectors without jobfate.

    python3 reader.py [FOLDER]

It computes from the rules in rules.py what the vectors say about sets of indexes, finish times, delays, pod failure
policies, success policies and the end of a Job, prints how many vectors of each kind it checked, and fails if one says
something else.
"""
import collections
import glob
import json
import os
import sys

import rules

ALL = ("plain", "indexed", "per-index", "failure-policy", "success-policy", "ending")
UNREAD = ("reason", "explanation", "conflict")  # what only jobfate returns, and texts for people


def row(failures, last):
    return rules.without({"failures": failures or None, "lastFailure": last if last != rules.ZERO else None})


def read_record(record):
    return record.get("failures", 0), rules.instant(record.get("lastFailure", "0001-01-01T00:00:00Z"))


def text_of(indexes, wrong):
    return rules.without({"indexes": rules.spelled(indexes), "wrong": wrong})


# What the reader computes from the input of a function; the result of the vector must be the same.
FUNCTIONS = {
    "delay": lambda i: {"nanoseconds": rules.delay(**i)},
    "wait": lambda i: {"nanoseconds": rules.remaining(**i)},
    "record": lambda i: row(*rules.record(*read_record(i.get("record", {})), *(
        [rules.instant(t) for t in i.get(kind, [])] for kind in ("succeeded", "failed")))),
    "finishTime": lambda i: rules.without({"time": rules.finish_time(i["pod"])}),
    "restarts": lambda i: {"exceeded": rules.restarts_exceeded(rules.restarts(i.get("pods", [])), i["backoffLimit"])},
    "indexFailures": lambda i: dict(zip(
        ("failures", "ignored"), rules.counts(i.get("annotations", {}), i.get("ignored")))),
    "readIndexes": lambda i: {"indexes": rules.spelled(rules.read_status(i["text"], i.get("completions", 0)))},
    "parseIndexes": lambda i: text_of(*rules.parse(i["text"])),
    "checkIndexes": lambda i: text_of(*rules.check_spec(i["text"], i.get("completions", 0))),
    "sets": lambda i: rules.sets(**i),
    "failurePolicy": lambda i: rules.failure_policy(i.get("podFailurePolicy"), i["pod"]),
    "successPolicy": lambda i: rules.without({"rule": rules.success_rule(
        i.get("successPolicy"), i["completions"], rules.parse(i["completedIndexes"])[0])}),
    "podIndex": lambda i: rules.without({"index": rules.index_of({"metadata": i})}),
}


def check(kind, vector):
    """What the reader says and what a vector says; None if the reader does not check such vectors."""
    if kind in FUNCTIONS:
        want = rules.without(vector["jobfate"], *UNREAD)
        if kind == "readIndexes":
            want.pop("wrong", None)
        if kind == "finishTime":
            want = rules.without({"time": rules.nanoseconds(want.get("time"))})
        if kind == "record":
            want = row(*read_record(want))
        return FUNCTIONS[kind](vector["in"]), want
    written = [w["status"] for w in vector["jobfate"].get("writes", []) if w["verb"] == "status"] if kind in ALL else []
    kinds = [c["type"] for c in vector.get("snapshot", {}).get("job", {}).get("status", {}).get("conditions") or []]
    if not written or len(kinds) > len(set(kinds)):  # a condition that is there twice
        return None
    want = {c["type"]: c.get("reason", "") for c in written[-1].get("conditions") or [] if c["status"] == "True"}
    return rules.conditions(vector), want


def read(folder):
    """The vectors with their kinds: the function, or the file."""
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.jsonl"), recursive=True)):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                vector = json.loads(line)
                yield vector.get("function", os.path.basename(path).removesuffix(".jsonl")), vector


def main(folder):
    checked, left, wrong = collections.Counter(), collections.Counter(), 0
    for kind, vector in read(folder):
        answer = check(kind, vector)
        (left if answer is None else checked)[kind] += 1
        if answer and answer[0] != answer[1]:
            wrong += 1
            name = vector.get("id") or f"{kind}({json.dumps(vector['in'])})"
            print(f"{name}: the vector says {answer[1]}, and the rules say {answer[0]}")
    for what, count in (("checked", checked), ("not checked", left)):
        print(f"{what}: {sum(count.values())} vectors:", ", ".join(f"{n} {kind}" for kind, n in sorted(count.items())))
    return f"{wrong} vectors are wrong" if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))))
