#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the shipped sets from traces of healthy pipelines; regenerate.sh calls this.

usage: regenerate.sh [--bin BUILD/bin] [--python PYTHON] [--work DIR] [--reuse] [--verify] [--traces-only] [-j N]
                     [--deepspeed-python PYTHON]

sets.json gives each pipeline of ../benchmarks/pipelines one role. Invariants are learned from those of `learn`; what breaks
on a pipeline of `prune` is dropped, and what sets.json leaves out, as a right script may break it; those of `validate`, and
the healthy scripts of ../examples, decide about nothing and tell how good the result is. Each invariant goes to the first of
the sets of sets.json that is for all pipelines on which it held: by the packages that they import and by the number of their
processes.

Traces are kept in DIR/traces and collected again only when their script or the collector has changed; --reuse takes them as
they are. The files here are replaced unless an invariant breaks on a pipeline of `validate`; --verify only compares.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))
import harness  # noqa: E402

MARK = "<!-- regenerate.sh -->\n"


class Plan:
    """sets.json, with the pipelines that it names."""

    def __init__(self, deepspeed_python=sys.executable):
        document = json.loads((HERE / "sets.json").read_text())
        self.sets, self.roles, self.left_out = document["sets"], document["roles"], document["left_out"]
        self.pipelines = harness.pipelines()
        for name, entry in document["examples"].items():
            example = harness.Pipeline(f"examples/{name}", {"exercises": "", **entry})
            example.script = HERE.parent / "examples" / name / "train.py"
            self.pipelines[example.name] = example
            self.roles["validate"].append(example.name)
        self.add_deepspeed(document["deepspeed"], deepspeed_python)
        named = [n for names in self.roles.values() for n in names]
        for name in sorted(set(named) ^ set(self.pipelines)):
            raise harness.Failed(f"sets.json: {name}: each pipeline has one role, and each role is of a pipeline")
        if len(named) != len(set(named)):
            raise harness.Failed("sets.json: a pipeline has two roles")

    def add_deepspeed(self, roles, python):
        """Its jobs run with an interpreter of their own, beside which the ninja stands that it builds with. They are few, so that
        what is learned from them is pruned and validated by the same jobs with other seeds, rates and lengths."""
        for role, name in [(role, name) for role in roles for name in roles[role]]:
            script, _, variant = name.partition("+")
            job = harness.Pipeline(f"deepspeed_{name}", {"exercises": "", "packages": ["deepspeed"], "ranks": 2,
                                                         "launcher": "torchrun"})
            job.script = harness.HERE / "deepspeed" / "healthy" / f"{script}.py"
            job.variant = variant
            job.python = os.path.abspath(python)
            job.env = {"DS_ACCELERATOR": "cpu", "PATH": os.path.dirname(job.python) + os.pathsep + os.environ["PATH"]}
            self.pipelines[job.name] = job
            self.roles[role].append(job.name)

    def is_for(self, name, pipeline):
        """Is the set for runs like this pipeline?"""
        runs = self.sets[name]
        imports = {"torch", *self.pipelines[pipeline].packages}
        return bool(imports & set(runs["packages"])) and ("processes" not in runs or self.pipelines[pipeline].ranks > 1)

    def set_of(self, supporters):
        """The first set that is for all of these pipelines; None for none."""
        return next((s for s in self.sets if supporters and all(self.is_for(s, p) for p in supporters)), None)

    def members(self, name, role):
        return [p for p in sorted(self.roles[role]) if self.is_for(name, p)]


def identity(line):
    """What is the same of an invariant in its file and in the logs of a check."""
    return line["id"], line["text"]


def verdicts(tools, trace, files):
    """{verdict: [line of the log]} of a check by these files, and the violations."""
    with tempfile.TemporaryDirectory(dir=tools.work) as folder:
        report = pathlib.Path(folder) / "report"
        tools.run(tools.bin / "traincheck-check", "-q", "--no-html-report", trace, "-i", *files, "-o", report, ok=(0, 1, 3))
        logs = {v: harness.read_lines(report / f"{v}.log") for v in ("failed", "passed")}
        return logs, harness.read_lines(report / "violations.jsonl")


def versions(tools, plan, packages):
    """{package: version} of the interpreter that ran the pipelines."""
    python = next((p.python for p in plan.pipelines.values() if p.python and packages == p.packages), tools.python)
    program = ("import importlib.metadata as m, json, sys\n"
               "print(json.dumps({p: m.version(p).split('+')[0] for p in sys.argv[1:]}))")
    return json.loads(tools.run(python, "-c", program, *sorted({"torch", *packages})).stdout)


def learn(tools, plan, traces):
    """The header of what was learned, and its invariants as lines, each with the pipelines it held on."""
    out = tools.work / "learned.jsonl"
    prune = [word for p in plan.roles["prune"] for word in ("--validate", traces[p])]
    tools.infer([traces[p] for p in plan.roles["learn"]], out, prune)
    header, *lines = out.read_text().splitlines()
    lines = [line for line in lines if json.loads(line)["text"] not in plan.left_out]
    supporters = {identity(json.loads(line)): set() for line in lines}
    for p in plan.roles["learn"] + plan.roles["prune"]:
        for line in verdicts(tools, traces[p], [out])[0]["passed"]:
            supporters[identity(line)].add(p)
    return json.loads(header), [(line, supporters[identity(json.loads(line))]) for line in lines]


def write_sets(tools, plan, header, learned, folder):
    folder.mkdir(exist_ok=True)
    files = {}
    for name, runs in plan.sets.items():
        more = {"for": runs, "learned_with": versions(tools, plan, runs["packages"])}
        lines = [line for line, supporters in learned if plan.set_of(supporters) == name]
        files[name] = folder / f"{name}.jsonl"
        head = json.dumps({**header, **more}, separators=(",", ":"), ensure_ascii=False)
        files[name].write_text("\n".join([head, *lines]) + "\n")
    return files


def validate(tools, plan, traces, files):
    """{pipeline: (number of invariants passed, violations)} of those that nothing was learned from."""
    results = {}
    for p in plan.roles["validate"]:
        logs, violations = verdicts(tools, traces[p], files.values())
        results[p] = {identity(line) for line in logs["passed"]}, violations
        for v in violations:
            print(f"violated: {p}: {v['id']} {' '.join(v['expected'].split())}; {' '.join(v['seen'].split())}"
                  f" [{v.get('at', '')}, step {v.get('step')}]")
    return results


def code(names):
    return ", ".join(f"`{n}`" for n in names)


def table(plan, files, results):
    """What README.md says of the sets, made from what was done."""
    out = []
    for name in sorted(files):
        header, *lines = harness.read_lines(files[name])
        ids = {identity(line) for line in lines}
        met = {p: len(ids & results[p][0]) for p in plan.members(name, "validate")}
        broken = sum(1 for p in met for v in results[p][1] if (v["id"], v["expected"]) in ids)
        forms = sorted({line["relation"] for line in lines})
        counts = ", ".join(f"{sum(line['relation'] == f for line in lines)} {f}" for f in forms)
        learned_with = ", ".join(f"{p} {v}" for p, v in header["learned_with"].items())
        out += [f"### {name}.jsonl", "", f"* {len(lines)} invariants: {counts}", f"* learned with {learned_with}",
                f"* learned from {code(plan.members(name, 'learn'))}", f"* pruned by {code(plan.members(name, 'prune'))}",
                f"* validated on {', '.join(f'`{p}` ({n})' for p, n in met.items())}: {broken} violations; in parentheses "
                "how many of the set found something to judge and held", ""]
    return "\n".join(out)


def text_of(path):
    return path.read_text() if path.exists() else ""


def update_readme(text):
    readme = HERE / "README.md"
    before, mark, _ = text_of(readme).partition(MARK)
    return before + (mark or MARK) + "\n" + text


def run():
    p = harness.parser(__doc__)
    p.add_argument("--deepspeed-python", metavar="PYTHON", default=sys.executable,
                   help="an interpreter with torch, scikit-learn, deepspeed and ninja (default: this one)")
    p.add_argument("--verify", action="store_true", help="change nothing; fail if anything would change")
    p.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="collect so many traces at a time (default 1)")
    p.add_argument("--traces-only", action="store_true", help="collect what is missing, and end")
    args = p.parse_args()
    tools, plan = harness.tools(args), Plan(args.deepspeed_python)
    traces = tools.trace_pipelines(plan.pipelines.values(), args.jobs)
    if args.traces_only:
        return 0
    header, learned = learn(tools, plan, traces)
    files = write_sets(tools, plan, header, learned, tools.work / "sets")
    results = validate(tools, plan, traces, files)
    broken = sum(bool(violations) for _, violations in results.values())
    print(f"{broken} of {len(results)} pipelines of `validate` broke an invariant")
    made = {HERE / f"{name}.jsonl": file.read_text() for name, file in files.items()}
    made[HERE / "README.md"] = update_readme(table(plan, files, results))
    changed = sorted(path.name for path, text in made.items() if text_of(path) != text)
    print(f"changed: {', '.join(changed) or 'nothing'}")
    if broken or args.verify:
        return 1 if broken or changed else 0
    for path, text in made.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    harness.main(run)
