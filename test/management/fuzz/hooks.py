"""Hooks for schemathesis. Before each request: the administrator's key as it is now, no watch, and half of the time names and a
body that exist, because random ones nearly always end at the first check. The first request of an operation is a good one,
so that each run shows that the operation works. After each: what was answered, for the verdict."""

import json
import os
import random
import urllib.request

import schemathesis

CONTROL = os.environ["HOSTWARD_FUZZ_CONTROL"]
RESULTS = os.environ["HOSTWARD_FUZZ_RESULTS"]
PLAN = json.load(open(os.environ["HOSTWARD_FUZZ_PLAN"]))
schemathesis.serializer.alias("application/apply-patch+yaml", "application/yaml")
for kind in ("json-patch", "merge-patch", "strategic-merge-patch"):
    schemathesis.serializer.alias(f"application/{kind}+json", "application/json")
chosen = random.Random(7)
state = {"operation": None, "key": ""}
begun = set()
# A loaded machine takes its time.
CONTROL_SECONDS = 60
results = open(RESULTS, "a", buffering=1)


def label(case):
    return f"{case.operation.method.upper()} {case.operation.path}"


@schemathesis.hook
def before_call(context, case, kwargs):
    plan = PLAN.get(label(case), {})
    # Some requests may have ended the key, so each operation begins with a good one.
    if state["operation"] != label(case) or state["key"] == "" or chosen.random() < 0.2:
        state["operation"] = label(case)
        with urllib.request.urlopen(CONTROL, timeout=CONTROL_SECONDS) as answer:
            state["key"] = answer.read().decode()
    case.headers["Authorization"] = "Bearer " + state["key"]
    # Some requests of the coverage phase have another method than the operation.
    is_own = case.method.upper() == case.operation.method.upper()
    is_first = is_own and (label(case), case.media_type) not in begun
    if is_first:
        begun.add((label(case), case.media_type))
    body = plan.get("bodies", {}).get(case.media_type, plan.get("body"))
    if is_first or chosen.random() < 0.5:
        case.path_parameters = {**(case.path_parameters or {}), **plan.get("names", {})}
    if body is not None and (is_first or chosen.random() < 0.3):
        case.body = body
        case.query = {"fieldManager": "fuzz", "force": "true"} if "apply" in (case.media_type or "") else {}
        case.path_parameters = {**(case.path_parameters or {}), **plan.get("names", {})}
    elif is_first or ("names" in plan and chosen.random() < 0.3):
        case.query = {}
    if case.operation.method.upper() == "GET":
        case.query = {**(case.query or {}), "watch": "false"}


@schemathesis.hook
def after_call(context, case, response):
    results.write(json.dumps([label(case), response.status_code]) + "\n")
