#!/usr/bin/env python3
"""How often is a healthy pipeline accused by invariants learned from others?

usage: run.py [--bin BUILD/bin] [--python PYTHON] [--work DIR] [--reuse] [--learn 1,4,6,10] [--draws 5] [--seed 0]
              [NAME...]

Each draw shuffles the pipelines of ../pipelines (or those named), keeps --validate of them apart, and learns from the first 1, 4, 6
and 10 of the others ("all": from all of the others). No pipeline is learned from and validated in one draw.

violated   mean over validation pipelines of violated / all invariants: the measure of the TrainCheck paper
triggered  the same over violated / triggered invariants, which is stricter
alarms     violations reported per thousand training steps; repeats of one invariant are one violation
silent     share of (draw, validation pipeline) without any violation

--own asks another question: learned from one pipeline alone, do other runs of the same one pass? Each is run again, with
another seed, half the learning rate, more width, and more steps; it lists what alarms.

--shipped learns nothing: are pipelines accused by the invariants that come with the tools, under the torch of --python? A pipeline that this torch
cannot run is left out, and said so. Exit status 1 if one is accused.

Prints the table and the invariants that alarmed most often with what they saw; writes DIR/false_positives.json.
"""

import collections
import json
import os
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402


def measure(tools, learned, validated):
    """One draw: (number of invariants, a row for each validation pipeline, violations with the pipeline's name)."""
    out = tools.work / "invariants" / "false_positives.jsonl"
    invariants = tools.infer(learned, out)
    rows, alarms = [], []
    for name, (trace, steps) in validated.items():
        verdicts, violations, _ = tools.check(trace, out)
        failed, passed = len(verdicts["failed"]), len(verdicts["passed"])
        rows.append({"pipeline": name, "failed": failed, "passed": passed, "invariants": len(invariants),
                     "violated": failed / max(1, len(invariants)), "triggered": failed / max(1, failed + passed),
                     "alarms": 1000 * len(violations) / max(1, steps)})
        alarms += [(name, v) for v in violations]
    return len(invariants), rows, alarms


VARIANTS = ("steps=x1", "seed=11", "lr=x0.5", "width=x1.5", "steps=x1.5")  # the first is the same run again


def own(tools, pipelines):
    """Each pipeline by its own invariants; returns how many of its variants alarm."""
    out, runs, alarmed = tools.work / "invariants" / "own.jsonl", 0, 0
    for pipeline in pipelines.values():
        try:
            tools.infer([tools.trace_pipeline(pipeline)[0]], out)
            for variant in VARIANTS:
                found = tools.check(tools.trace_pipeline(pipeline, variant)[0], out).violations
                runs, alarmed = runs + 1, alarmed + bool(found)
                for v in found:
                    print(f"{pipeline.name} {variant}: {v['id']} {v['relation']}: {' '.join(v['expected'].split())}\n"
                          f"    {' '.join(v['seen'].split())} [{v.get('at', '')}, step {v.get('step')}]", flush=True)
        except harness.Failed as e:
            print(f"left out: {pipeline.name}: {e}", flush=True)
    print(f"own: {alarmed} of {runs} other runs of {len(pipelines)} pipelines have an alarm")
    return 1 if alarmed else 0


def shipped(tools, pipelines):
    """Each pipeline by @all; returns 1 if one is accused."""
    accused, passed = [], []
    for pipeline in pipelines.values():
        try:
            verdicts, found, _ = tools.check(tools.trace_pipeline(pipeline)[0], "@all")
        except harness.Failed as e:
            print(f"left out: {pipeline.name}: {e}", flush=True)
            continue
        passed.append(len(verdicts["passed"]))
        accused += [pipeline.name] if found else []
        print(f"{pipeline.name}: {passed[-1]} passed, {len(verdicts['failed'])} failed, {len(verdicts['unchecked'])} unchecked", flush=True)
        for v in found:
            print(f"    {v['id']} {v['relation']}: {' '.join(v['seen'].split())} [{v.get('at', '')}, step {v.get('step')}]", flush=True)
    print(f"shipped: {len(accused)} of {len(passed)} pipelines are accused; {sum(passed)} times an invariant passed")
    return 1 if accused or not passed else 0


def steps_of(tools, trace):
    """Training steps of a trace, from the line that the collector left; the most of any of its processes."""
    log = (tools.work / "traces" / f"{trace.name}.log").read_text()
    found = [int(w[0]) for w in (part.split() for part in log.split("traincheck-collect: ")[1:]) if w[1:2] == ["steps,"]]
    return max(found, default=0) or 40


def draws(args, traces):
    for draw in range(args.draws):
        names = sorted(traces)
        random.Random(args.seed * 1000 + draw).shuffle(names)
        yield names[args.validate:], names[:args.validate]


def table(results):
    rows = [("pipelines learned from", "invariants", "violated", "triggered", "alarms / 1000 steps", "silent")]
    for k, r in results.items():
        per = r["rows"]
        rows.append((k, f"{statistics.mean(r['invariants']):.0f}",
                     f"{100 * statistics.mean(x['violated'] for x in per):.2f} %",
                     f"{100 * statistics.mean(x['triggered'] for x in per):.2f} %",
                     f"{statistics.mean(x['alarms'] for x in per):.2f}",
                     f"{100 * sum(x['failed'] == 0 for x in per) / len(per):.0f} %"))
    return rows


def markdown(rows):
    lines = ["| " + " | ".join(map(str, r)) + " |" for r in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def culprits(results, top):
    """The invariants that alarmed most, over all draws of one size."""
    out = []
    for k, r in results.items():
        by = collections.defaultdict(list)
        for name, v in r["alarms"]:
            by[v["id"]].append((name, v))
        for i, hits in sorted(by.items(), key=lambda x: (-len(x[1]), x[0]))[:top]:
            v = hits[0][1]
            names = sorted({n for n, _ in hits})
            out.append(f"{k} pipelines, {len(hits)}x {i} {v['relation']}: {' '.join(v['expected'].split())}\n"
                       f"    in {', '.join(names)}\n"
                       f"    {hits[0][0]}: {' '.join(v['seen'].split())} [{v.get('at', '')}, step {v.get('step')}]")
    return "\n".join(out)


def run():
    p = harness.parser(__doc__)
    p.add_argument("--learn", default="1,4,6,10,all", help="how many pipelines to learn from (default 1,4,6,10,all)")
    p.add_argument("--validate", type=int, default=12, help="pipelines kept apart in a draw (default 12)")
    p.add_argument("--draws", type=int, default=5, help="random draws (default 5)")
    p.add_argument("--seed", type=int, default=0, help="of the draws")
    p.add_argument("--top", type=int, default=10, help="invariants to list for each size (default 10)")
    p.add_argument("--own", action="store_true", help="check variants of each pipeline by its own invariants")
    p.add_argument("--shipped", action="store_true", help="check pipelines by the shipped sets")
    p.add_argument("names", nargs="*", metavar="NAME", help="pipelines (default all)")
    args = p.parse_args()
    tools = harness.tools(args)
    (tools.work / "invariants").mkdir(exist_ok=True)
    if args.shipped:
        return shipped(tools, harness.pipelines(args.names))
    if args.own:
        return own(tools, harness.pipelines(args.names))
    traces = {}
    for pipeline in harness.pipelines(args.names).values():
        try:
            folder, _ = tools.trace_pipeline(pipeline)
            traces[pipeline.name] = folder, steps_of(tools, folder)
        except harness.Failed as e:
            print(f"left out: {pipeline.name}: {e}", flush=True)

    results = {k: {"invariants": [], "rows": [], "alarms": []} for k in args.learn.split(",")}
    for learn, validate in draws(args, traces):
        for k, r in results.items():
            learned = learn if k == "all" else learn[:int(k)]
            count, rows, alarms = measure(tools, [traces[n][0] for n in learned], {n: traces[n] for n in validate})
            r["invariants"].append(count)
            r["rows"] += rows
            r["alarms"] += alarms
    report = "\n\n".join(["# False positives", f"{len(traces)} pipelines, {args.draws} draws, {args.validate} validated in each.",
                          markdown(table(results)), "## Invariants that alarmed most often", culprits(results, args.top)])
    print(report)
    (tools.work / "false_positives.json").write_text(json.dumps(results, indent=1))
    (tools.work / "false_positives.md").write_text(report + "\n")
    print(f"\nreport: {os.path.relpath(tools.work / 'false_positives.md')}")
    return 0


if __name__ == "__main__":
    harness.main(run)

# SPDX-License-Identifier: Apache-2.0
