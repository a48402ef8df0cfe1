#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often is each kind of claim made of a script, and how often does a healthy run break it?

usage: run.py [--sets NAME,...] [--parts references,habits] [--runs third,other,4x,10x] [--bin BUILD/bin]
              [--python PYTHON] [--work DIR] [--reuse] [--only TEXT] [--collect-only] [-j N]

Of each healthy script of the blind sets, which are the references of bugs and the habits, what is learned with --specific from two
runs judges others that it has not seen:

third   the script's defaults with a third seed
other   another seed and half the learning rate
4x, 10x another seed and so many times the steps

A kind is an attribute and its subject, "count of a window", or a form that is claimed of itself. Of each kind:

scripts  in which it is claimed
claims   in all of them
held     the occasions on which they held in the runs they were learned from: the median of a claim
broken   claims that an unseen healthy run breaks, by run; changed settings are apart
accused  scripts that it accuses in one of the runs, and those that nothing else accuses
left out the largest and the smallest share of claims broken, when one set after the other is left out

Traces are kept in DIR/traces/ledger/. Writes DIR/ledger.json and DIR/ledger.md. Exit status 0 unless a script or a tool failed.

    run.py --python .venv/bin/python -j 2                                  all sets
    run.py --python .venv/bin/python --sets twelfth,sixteenth --runs third two of them, judged by one run each
"""

import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402

LEARNED_FROM = ("default", "second")
RUNS = ("third", "other", "4x", "10x")
PARTS = {"references": "bugs", "habits": "healthy"}
HEAD = ("kind", "scripts", "claims", "held", "broken", "settings", "accused", "alone", "left out")


def kind_of(invariant):
    """What an invariant claims, without what it claims it of."""
    subject, claim = (*invariant["params"], {})[:2]
    if "subject" not in subject:
        return invariant["relation"]
    return f"{claim['attribute']} of a {subject['subject']}"


class Scripts:
    """The healthy scripts of the sets and how each is run."""

    def __init__(self, args):
        self.blind = harness.runner("blind")
        self.all = {f"{s}/{part}/{script.name}": (s, script) for s in args.sets for part in args.parts
                    for script in self.blind.load(HERE.parent / "blind" / s, PARTS[part], args.only)}

    def collect(self, tools, name, runs):
        """{run: trace folder}"""
        script = self.all[name][1]
        return {run: tools.trace(f"ledger/{name}/{run}", script.healthy, script.arguments(run))[0] for run in runs}


def judge(tools, name, traces):
    """{kind: [claims, their occasions, {run: ids broken}, {run: ids of changed settings}]} of a script."""
    invariants = tools.work / "ledger.tmp" / f"{name.replace('/', '_')}.jsonl"
    learned = tools.infer([traces[run] for run in LEARNED_FROM], invariants, ["--specific"])
    kinds = {i["id"]: kind_of(i) for i in learned}
    rows = collections.defaultdict(lambda: {"claims": 0, "held": [], "broken": {}, "settings": {}})
    for invariant in learned:
        row = rows[kinds[invariant["id"]]]
        row["claims"] += 1
        row["held"].append(invariant["evidence"]["held"])
    for run, trace in traces.items():
        if run in LEARNED_FROM:
            continue
        for violation in tools.check(trace, invariants).violations:
            which = "settings" if violation.get("setting") else "broken"
            rows[kinds[violation["id"]]][which].setdefault(run, []).append(f"{violation['expected']}; {violation['seen']}")
    return {kind: {**row, "held": sorted(row["held"])} for kind, row in rows.items()}


def share(rows, name):
    """Of claims those that were broken."""
    claims = sum(r["claims"] for r in rows)
    return sum(len(said) for r in rows for said in r[name].values()) / claims if claims else 0


def cells(kind, by_script, sets, accused):
    """The row of a kind. accused: {script: kinds that accuse it}."""
    rows = {s: kinds[kind] for s, kinds in by_script.items() if kind in kinds}
    those = [s for s, kinds in accused.items() if kind in kinds]
    left_out = [share([r for s, r in rows.items() if not s.startswith(f"{gone}/")], "broken") for gone in sets]
    held = list(itertools.chain.from_iterable(r["held"] for r in rows.values()))
    return [kind, len(rows), sum(r["claims"] for r in rows.values()), f"{statistics.median(held):g}",
            sum(len(said) for r in rows.values() for said in r["broken"].values()),
            sum(len(said) for r in rows.values() for said in r["settings"].values()), len(those),
            sum(accused[s] == {kind} for s in those), f"{min(left_out):.2%} to {max(left_out):.2%}"]


def report(by_script, sets, runs, failed):
    accused = {s: {k for k, row in kinds.items() if row["broken"]} for s, kinds in by_script.items()}
    accused = {s: kinds for s, kinds in accused.items() if kinds}
    lines = ["# What healthy runs break", "", *(f"* failed: {f}" for f in failed), ""]
    lines += [f"{len(by_script)} scripts of {len(sets)} sets, judged by {', '.join(runs)}; {len(accused)} are accused.", ""]
    for part, (name, run) in itertools.product(PARTS, [("any run", None), *((r, r) for r in runs)]):
        of = [s for s in by_script if s.split("/")[1] == part]
        n = sum(any(row["broken"] and (run is None or run in row["broken"]) for row in by_script[s].values()) for s in of)
        lines += [f"* {part}, {name}: {n} of {len(of)} accused"]
    table = [cells(k, by_script, sets, accused) for k in sorted({k for kinds in by_script.values() for k in kinds})]
    table.sort(key=lambda c: (-c[6], -c[4], -c[2]))
    lines += ["", f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|", *(f"| {' | '.join(map(str, c))} |" for c in table), ""]
    for s, kinds in sorted(accused.items()):
        for kind in sorted(kinds):
            for run, said in by_script[s][kind]["broken"].items():
                lines += [f"* `{s}`, {run}: {kind}, {len(said)}: {' '.join(said[0].split())[:300]}"]
    return "\n".join(lines) + "\n"


def names(text, known, p, option):
    chosen = text.split(",") if text else list(known)
    if unknown := [n for n in chosen if n not in known]:
        p.error(f"{option}: no {unknown[0]!r}; there are {', '.join(known)}")
    return chosen


def run():
    p = harness.parser(__doc__)
    p.add_argument("--sets", type=harness.blind_sets, default=harness.blind_sets(), help="blind sets (default: all)")
    p.add_argument("--parts", default="", help=f"of {', '.join(PARTS)}; both, if left out")
    p.add_argument("--runs", default="", help=f"that judge, of {', '.join(RUNS)}; all, if left out")
    p.add_argument("--only", default="", help="scripts whose name contains this")
    p.add_argument("--collect-only", action="store_true", help="trace what is not traced yet, and judge nothing")
    p.add_argument("-j", "--jobs", type=int, default=1, help="scripts at a time")
    args = p.parse_args()
    args.parts = names(args.parts, PARTS, p, "--parts")
    args.runs = names(args.runs, RUNS, p, "--runs")
    tools, scripts = harness.tools(args), Scripts(args)
    (tools.work / "ledger.tmp").mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        traces, failed = harness.in_parallel(pool, {n: (scripts.collect, tools, n, (*LEARNED_FROM, *args.runs)) for n in scripts.all})
        if args.collect_only:
            print(f"{len(traces)} scripts traced, {len(failed)} failed", *failed, sep="\n")
            return 1 if failed else 0
        by_script, more = harness.in_parallel(pool, {n: (judge, tools, n, t) for n, t in traces.items()})
    text = report(by_script, args.sets, args.runs, failed + more)
    (tools.work / "ledger.json").write_text(json.dumps(by_script, indent=1))
    (tools.work / "ledger.md").write_text(text)
    print(text + f"\nreport: {os.path.relpath(tools.work / 'ledger.md')}")
    return 1 if failed or more else 0


if __name__ == "__main__":
    harness.main(run)
