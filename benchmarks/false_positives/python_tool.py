#!/usr/bin/env python3
"""How often does the Python tool accuse a healthy pipeline, and how often do we, from the same runs?

usage: python_tool.py --upstream VENV/bin [--bin BUILD/bin] [--python PYTHON] [--work DIR] [--reuse] [--steps 12]
                      [--shortest 14] [--learn 1,4,6] [--validate 4] [--draws 1] [--seed 0]
                      [--limit 240] [--infer-limit 900] [NAME...]

Without names: of the pipelines of one process that need no training library, those with the shortest scripts, so
that the choice depends on no result. Each is cut to --steps and run under either collector. The Python tool is told
which variables hold models: those that the script asks for `.parameters()`. It gets --limit seconds to collect and
to check and --infer-limit to infer; which pipelines it managed, and how it failed on the others, is part of the
result.

A draw shuffles the pipelines that both collectors managed, keeps --validate of them apart, and learns from the
first 1, 4 and 6 of the others, both tools from the same. `violated` and `triggered` are those of run.py.

Writes DIR/python_tool/results.json as it goes. --reuse takes its traces of an earlier run.
"""

import ast
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
from run import draws, markdown, measure  # noqa: E402

OPTIONS = '''"""The Python tool passes no arguments on; these are the ones that the script is to see."""
import argparse


def options(lr, width, steps, seed=0):
    return argparse.Namespace(lr=lr, width=width, steps={steps}, seed=seed)
'''
ANSI = re.compile(r"\x1b\[[0-9;]*m")
TRAINING_LIBRARIES = {"accelerate", "lightning", "peft", "transformers"}


def is_eligible(pipeline):
    return pipeline.ranks == 1 and not pipeline.launcher and not TRAINING_LIBRARIES & set(pipeline.packages)


def models_of(script):
    """Names of variables that are asked for their parameters."""
    calls = (n for n in ast.walk(ast.parse(script.read_text())) if isinstance(n, ast.Attribute) and n.attr == "parameters")
    return sorted({n.value.id for n in calls if isinstance(n.value, ast.Name)} - {"self"})


def reason(text):
    """The last line of a traceback, else the last line."""
    lines = [ANSI.sub("", line).strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt|Exit|Expired)\b", line)]
    return (raised or lines or [""])[-1][:200]


class PythonTool:
    """Its three programs, each under a limit. A failure is a harness.Failed with what it said last."""

    def __init__(self, bin_dir, work, limits):
        self.bin, self.work = pathlib.Path(bin_dir).resolve(), work
        self.limits = limits
        self.work.mkdir(parents=True, exist_ok=True)

    def run(self, program, *arguments):
        """Returns the seconds it took."""
        env = dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}", OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
        begin, limit = time.monotonic(), self.limits.get(program, self.limits["collect"])
        try:
            p = harness.run_limited([self.bin / f"traincheck-{program}", *arguments], limit, cwd=self.work, env=env)
        except subprocess.TimeoutExpired:
            raise harness.Failed(f"{program}: longer than {limit} s") from None
        if p.returncode:
            raise harness.Failed(f"{program}: exit status {p.returncode}: {reason(p.stdout + p.stderr)}")
        return time.monotonic() - begin

    def collect(self, pipeline, steps, reuse):
        """(folder, seconds); a trace or a failure of an earlier run is taken as it was with reuse."""
        folder, stamp = self.work / "traces" / pipeline.name, self.work / "traces" / f"{pipeline.name}.json"
        if reuse and stamp.exists():
            known = json.loads(stamp.read_text())
            if known["steps"] == steps:
                if known["failed"]:
                    raise harness.Failed(known["failed"])
                return folder, known["seconds"]
        scripts = self.work / "scripts" / pipeline.name
        scripts.mkdir(parents=True, exist_ok=True)
        shutil.copy(pipeline.script, scripts)
        (scripts / "options.py").write_text(OPTIONS.format(steps=steps))
        shutil.rmtree(folder, ignore_errors=True)
        known = {"steps": steps, "failed": None, "seconds": None}
        try:
            known["seconds"] = self.run("collect", "--pyscript", scripts / pipeline.script.name,
                                        "--models-to-track", *models_of(pipeline.script), "--output-dir", folder)
        except harness.Failed as e:
            known["failed"] = str(e)
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(json.dumps(known))
        if known["failed"]:
            raise harness.Failed(known["failed"])
        return folder, known["seconds"]

    def infer(self, folders, out):
        """(number of invariants, seconds)"""
        out.unlink(missing_ok=True)
        seconds = self.run("infer", "-f", *folders, "-o", out)
        return len(out.read_text().splitlines()), seconds

    def check(self, folder, invariants):
        """(failed, passed, seconds); what never triggered is in neither."""
        out = self.work / "report"
        shutil.rmtree(out, ignore_errors=True)
        seconds = self.run("check", "-f", folder, "-i", invariants, "-o", out, "--no-html-report")
        count = [sum(line.startswith("{") for line in (out / folder.name / f"{v}.log").open()) for v in ("failed", "passed")]
        return *count, seconds


def choose(args):
    """The pipelines that were asked for, or the shortest of the eligible."""
    found = list(harness.pipelines(args.names).values())
    if args.names:
        return found
    found = [p for p in found if is_eligible(p)]
    return sorted(found, key=lambda p: (len(p.script.read_text().splitlines()), p.name))[:args.shortest]


def prints_the_same(log, output):
    """Whether every line that the script printed under our collector was printed under the other, too."""
    theirs = set(ANSI.sub("", output.read_text(errors="replace")).splitlines()) if output.exists() else set()
    return all(line in theirs for line in log.read_text().splitlines() if not line.startswith("traincheck-collect:"))


def collect(args, tools, tool):
    """{name: (our trace, its trace)} of what both managed, and a row of how it went for each pipeline."""
    traces, rows = {}, []
    for pipeline in choose(args):
        row = {"pipeline": pipeline.name}
        try:
            ours, _ = tools.trace(pipeline.name, pipeline.script, [f"--steps={args.steps}"], pipeline.launcher, pipeline.ranks)
            theirs, row["seconds"] = tool.collect(pipeline, args.steps, args.reuse)
            row["prints_the_same"] = prints_the_same(ours.with_name(f"{ours.name}.log"), theirs / "program_output.txt")
            row["records"] = sum(sum(1 for _ in f.open("rb")) for p in ("trace_*", "proxy_log*") for f in theirs.glob(p))
            traces[pipeline.name] = ours, theirs
        except harness.Failed as e:
            row["failed"] = str(e)
        rows.append(row)
        print(json.dumps(row), flush=True)
    return traces, rows


def judge(tool, learned, validated):
    """A row of the Python tool for each validated pipeline; one failure ends a pipeline, not the draw."""
    out = tool.work / "invariants.json"
    try:
        count, seconds = tool.infer(learned, out)
    except harness.Failed as e:
        return [{"failure": str(e)}]
    print(f"the Python tool: {count} invariants from {len(learned)} pipelines in {seconds:.0f} s", flush=True)
    rows = []
    for name, folder in validated.items():
        try:
            failed, passed, took = tool.check(folder, out)
            rows.append({"pipeline": name, "failed": failed, "passed": passed, "invariants": count, "seconds": took,
                         "infer_seconds": seconds, "violated": failed / max(1, count),
                         "triggered": failed / max(1, failed + passed)})
        except harness.Failed as e:
            rows.append({"pipeline": name, "failure": str(e)})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def table(results):
    """For each tool and number of pipelines; what it failed on is not in its means."""
    rows = [("learned from", "tool", "invariants", "violated / all", "violated / triggered", "without a violation", "not judged")]
    for (k, tool), found in results.items():
        judged = [r for r in found if "failure" not in r]
        mean = [f"{100 * statistics.mean(r[key] for r in judged):.2f} %" if judged else "" for key in ("violated", "triggered")]
        rows.append((k, tool, f"{statistics.mean(r['invariants'] for r in judged):.0f}" if judged else "", *mean,
                     f"{sum(r['failed'] == 0 for r in judged)} of {len(judged)}", len(found) - len(judged)))
    return rows


def parse():
    p = harness.parser(__doc__)
    p.add_argument("--upstream", required=True, help="bin/ of a virtual environment with traincheck 0.2.0, torch, scikit-learn")
    p.add_argument("--steps", type=int, default=12, help="of each pipeline, roughly (default 12)")
    p.add_argument("--shortest", type=int, default=14, help="how many to choose (default 14)")
    p.add_argument("--learn", default="1,4,6", help="how many pipelines to learn from (default 1,4,6)")
    p.add_argument("--validate", type=int, default=4, help="pipelines kept apart in a draw (default 4)")
    p.add_argument("--draws", type=int, default=1, help="random draws (default 1)")
    p.add_argument("--seed", type=int, default=0, help="of the draws")
    p.add_argument("--limit", type=int, default=240, help="seconds for the Python tool to collect or check (default 240)")
    p.add_argument("--infer-limit", type=int, default=900, help="seconds for it to infer (default 900)")
    p.add_argument("names", nargs="*", metavar="NAME", help="pipelines")
    args = p.parse_args()
    args.work = pathlib.Path(args.work).resolve() / "python_tool"
    return args


def run():
    args = parse()
    tools = harness.tools(args)
    (tools.work / "invariants").mkdir(exist_ok=True)
    tool = PythonTool(args.upstream, tools.work / "theirs", {"collect": args.limit, "infer": args.infer_limit})
    traces, collected = collect(args, tools, tool)
    results = {(k, t): [] for k in map(int, args.learn.split(",")) for t in ("ours", "Python tool")}
    for learn, validate in draws(args, traces):
        for k, name in results:
            if name == "ours":
                _, rows, _ = measure(tools, [traces[n][0] for n in learn[:k]], {n: (traces[n][0], 1) for n in validate})
            else:
                rows = judge(tool, [traces[n][1] for n in learn[:k]], {n: traces[n][1] for n in validate})
            results[k, name] += rows
            judged = [{"learn": k, "tool": t, "rows": r} for (k, t), r in results.items()]
            (tools.work / "results.json").write_text(json.dumps({"collected": collected, "judged": judged}, indent=1))
    same = sum(row.get("prints_the_same", False) for row in collected)
    print(f"{len(traces)} of {len(collected)} pipelines collected by both tools, {same} of them print the same under either\n\n"
          f"{markdown(table(results))}")
    return 0


if __name__ == "__main__":
    harness.main(run)

# SPDX-License-Identifier: Apache-2.0
