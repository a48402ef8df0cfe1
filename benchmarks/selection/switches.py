#!/usr/bin/env python3
"""Is what was not collected ever called violated?

usage: switches.py [--bin BUILD/bin] [--python PYTHON] [--work DIR] [--reuse] [NAME...]

Each pipeline of ../pipelines (or those named) is traced with every set of switches below. The facts of the script are learned from
each trace and checked on all others: the script is the same, so nothing may fail, whatever one trace was asked for and
another was not. Facts that compare content need more of it than some traces have; they are to be unchecked.

Prints what fails, as "NAME, learned with A, checked with B: ID relation: the claim", and a line of totals. Exit status 1 if
anything fails, or if no fact was judged.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

SWITCHES = {
    "nothing": ["--no-operators"], "operators": [], "no content": ["--no-operators", "--content", "off"],
    "full content": ["--no-operators", "--content", "full"], "operators, full content": ["--content", "full"],
    "operators, no content": ["--content", "off"], "small digests": ["--digest-budget", "4K"],
    "statistics": ["--stats", "--stack", "3"], "every third step": ["--sampling-interval", "3", "--warm-up-steps", "2"],
}
# What happens in the steps that it leaves out alone would break what is learned from such a trace.
SAMPLED = {"every third step"}


def collect(tools, pipeline):
    """{switches: trace folder}"""
    traces = {}
    for name, options in SWITCHES.items():
        tools.collect = options
        folder = f"switches/{pipeline.name}.{name.replace(', ', '+').replace(' ', '-')}"
        traces[name], _ = tools.trace(folder, pipeline.script, (), pipeline.launcher, pipeline.ranks)
    tools.collect = []
    return traces


def compare(tools, pipeline):
    """(verdicts that were given, [(learned with, checked with, violation)])"""
    traces, n, failed = collect(tools, pipeline), 0, []
    for learned in sorted(traces.keys() - SAMPLED):
        out = tools.work / "invariants" / "switches.jsonl"
        tools.infer([traces[learned]], out, ["--specific"])
        for checked in traces:
            verdicts, violations = tools.check(traces[checked], out)
            n += len(verdicts["passed"])
            failed += [(learned, checked, v) for v in violations]
    return n, failed


def run():
    p = harness.parser(__doc__)
    p.add_argument("names", nargs="*", metavar="NAME", help="pipelines (default all)")
    args = p.parse_args()
    tools = harness.tools(args)
    (tools.work / "invariants").mkdir(exist_ok=True)
    n_passed = n_failed = n_scripts = 0
    for name, pipeline in harness.pipelines(args.names).items():
        try:
            n, failed = compare(tools, pipeline)
        except harness.Failed as e:
            print(f"left out: {name}: {e}", flush=True)
            continue
        n_scripts, n_passed, n_failed = n_scripts + 1, n_passed + n, n_failed + len(failed)
        for learned, checked, v in failed:
            print(f"{name}, learned with {learned}, checked with {checked}: {v['id']} {v['relation']}: {v['expected']}; "
                  f"{v['seen']}", flush=True)
    print(f"switches: {n_failed} failed, {n_passed} passed, {n_scripts} scripts, {len(SWITCHES)} sets of switches")
    return 1 if n_failed or not n_passed else 0


if __name__ == "__main__":
    harness.main(run)

# SPDX-License-Identifier: Apache-2.0
