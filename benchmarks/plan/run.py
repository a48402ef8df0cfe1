#!/usr/bin/env python3
"""Capture and verify the set-ups, the bugs and the mutants of this folder, and print each as a table.

    benchmarks/plan/run.py --bin build/bin                      everything, some ten minutes on two cores
    benchmarks/plan/run.py --bin build/bin setups megatron      set-ups whose name begins so
    benchmarks/plan/run.py --bin build/bin bugs                 the bugs
    benchmarks/plan/run.py --bin build/bin mutants              mutants of the set-ups, --most of each kind
    benchmarks/plan/run.py --bin build/bin real                 the set-ups' plans from real ranks (gloo), too

A set-up must be verified. A bug must be refuted, and the first violation must name the operator and the line that the
bug's RUN gives: the line marked `# wrong`, or a line of the set-up. A mutant that is verified computes the same (a
gather done twice, a loss that is only printed), or is a bug of traincheck: its place is printed. With --check-survivors
replay.py runs it in float64, and says how far its results are from those of the job that was not mutated: one that is
verified and changed is MISSED, and the exit status 1."""
import argparse
import ast
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import mutants

HERE = pathlib.Path(__file__).resolve().parent

# name: script, options of the single job, options of the parallel one, ranks, layout
SETUPS = {
    "megatron tp2 dp2": ("megatron", "", "--tp 2 --dp 2", 4, "megatron"),
    "megatron tp2 dp2, sequence": ("megatron", "", "--tp 2 --dp 2 --sequence", 4, "megatron"),
    "megatron, all of it, AdamW": ("megatron", "--clip 1 --optimizer adamw",
                                   "--tp 2 --dp 2 --sequence --accumulate 2 --clip 1 --optimizer adamw", 4, "megatron"),
    "ddp": ("native", "", "--mode ddp --dp 2", 2, None),
    "ddp, no_sync, clip": ("native", "--clip 1", "--mode ddp --dp 2 --accumulate 2 --clip 1", 2, None),
    "dtensor tp2": ("native", "", "--mode tp --tp 2", 2, None),
    "dtensor tp2, sequence, clip": ("native", "--clip 1", "--mode tp --tp 2 --sequence --clip 1", 2, None),
    "fsdp2": ("native", "--optimizer sgd", "--mode fsdp --dp 2 --optimizer sgd", 2, None),
    "fsdp2 of 3, uneven": ("native", "--batch 9", "--mode fsdp --dp 3 --batch 9", 3, None),
    "fsdp2, accumulate, clip": ("native", "--clip 1", "--mode fsdp --dp 2 --accumulate 2 --clip 1", 2, None),
    "hsdp 2x2": ("native", "", "--mode fsdp --dp 4 --replicas 2", 4, None),
    "fsdp2 x tp2": ("native", "", "--mode fsdp --dp 2 --tp 2", 4, None),
    "fsdp2 x tp2, sequence": ("native", "", "--mode fsdp --dp 2 --tp 2 --sequence", 4, None),
    "pipeline gpipe": ("pipeline", "", "--stages 2", 2, None),
    "pipeline 1f1b": ("pipeline", "", "--stages 4 --schedule 1f1b", 4, None),
    "pipeline interleaved": ("pipeline", "", "--stages 2 --chunks 2 --schedule interleaved", 2, None),
    "context parallel": ("context_parallel", "", "--ranks 2", 2, None),
    "ring, torch's merge": ("ring", "", "--ranks 3 --merge flash", 3, None),
    "ring, merged by a maximum": ("ring", "", "--ranks 3 --merge log1p", 3, None),
    "ring, online softmax": ("ring", "", "--ranks 3 --merge online", 3, None),
    "vocabulary split, by hand": ("vocabulary", "", "--tp 2 --mode hand", 2, "vocabulary"),
    "vocabulary split, z-loss": ("vocabulary", "--z 0.5", "--tp 2 --mode hand --z 0.5", 2, "vocabulary"),
    "loss_parallel": ("vocabulary", "", "--tp 2 --mode dtensor", 2, None),
    "zero-1 by hand": ("by_hand", "", "--ranks 2", 2, None),
    "experts": ("moe", "", "--ranks 2", 2, "moe"),
    "llama, transformers tp": ("library", "", "--mode tp", 2, None),
    "llama, ddp": ("library", "--clip 1", "--mode ddp --clip 1", 2, None),
    "gpt2, ddp": ("library", "--model gpt2", "--mode ddp --model gpt2", 2, None),
    "llama, accelerate": ("library", "--accumulate 2 --clip 1", "--mode accelerate --accumulate 2 --clip 1", 2, None),
    "mixtral, ddp": ("library", "--model mixtral", "--mode ddp --model mixtral", 2, None),
}


class Runner:
    def __init__(self, bin_folder, python, jobs, plans=None):
        self.bin, self.python, self.jobs = pathlib.Path(bin_folder).resolve(), python, jobs
        self.is_kept = plans is not None
        self.work = pathlib.Path(plans or tempfile.mkdtemp(prefix="plan-bench-")).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.index = self.work / "index.json"
        self.made = {}
        if self.index.exists():
            self.made = {tuple(key): (self.work / folder, took) for key, folder, took in json.loads(self.index.read_text())}

    def close(self):
        if not self.is_kept:
            shutil.rmtree(self.work, True)

    def remember(self):
        good = [(key, folder.name, took) for key, (folder, took) in self.made.items() if folder]
        self.index.write_text(json.dumps(good, indent=1))

    def run(self, tool, *arguments):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        return subprocess.run([self.bin / tool, *map(str, arguments)], cwd=HERE, capture_output=True, text=True,
                              env=environment, check=False)

    def capture(self, script, options, world=None, layout=None):
        """(folder of plans, seconds) or a text that says why there is none; equal ones are captured once."""
        key = (script, options, world, layout)
        if key in self.made:
            return self.made[key]
        folder = next(f for f in (self.work / f"plan{i}" for i in itertools.count()) if not f.exists())
        more = ["--plan-world", world, "-j", self.jobs] if world else []
        more += ["--plan-layout", HERE / "setups" / f"{layout}.layout"] if layout and world else []
        began = time.monotonic()
        done = self.run("traincheck-collect", "--python", self.python, "--plan", folder, *more, f"{script}.py",
                        *options.split())
        self.made[key] = (folder, time.monotonic() - began)
        if done.returncode:
            self.made[key] = (None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no word")
        self.remember()
        return self.made[key]

    def verdict(self, single, parallel):
        """(verdict, violations, seconds)"""
        reports = self.work / "report"
        shutil.rmtree(reports, ignore_errors=True)
        began = time.monotonic()
        done = self.run("traincheck-check", "--plan", parallel, "--plan-reference", single, "-o", reports)
        seconds = time.monotonic() - began
        text = done.stdout + done.stderr
        if "unjudged" in text:
            return "unjudged", text, seconds
        return ("verified" if done.returncode == 0 else "refuted" if done.returncode == 1 else "error"), text, seconds

    def compare(self, single, parallel):
        """verdict() of two captures, or why there is none."""
        for script, options, world, layout in (single, parallel):
            folder, told = self.capture(script, options, world, layout)
            if folder is None:
                return "no plan", told, 0
        return self.verdict(self.capture(*single)[0], self.capture(*parallel)[0])


def operators(folder):
    return sum(line.startswith('{"op"') for path in folder.glob("plan-*") for line in path.open())


def bound_of(text):
    """` (error < 2^-83, 2 random evaluations)` of a verdict."""
    found = re.search(r" verified( \([^)]*\))", text)
    return found[1] if found else ""


def run_setups(runner, prefix):
    wrong = 0
    print(f"{'set-up':32} {'ranks':>5} {'operators':>9} {'capture':>8} {'verify':>7}  verdict")
    for name, (script, single, parallel, world, layout) in SETUPS.items():
        if not name.startswith(prefix):
            continue
        both = (f"setups/{script}", single, None, None), (f"setups/{script}", parallel, world, layout)
        verdict, text, seconds = runner.compare(*both)
        folder, told = runner.capture(*both[1])
        wrong += verdict != "verified"
        n, took = (operators(folder), f"{told:.1f} s") if folder else ("-", "-")
        print(f"{name:32} {world:5} {n:>9} {took:>8} {seconds:5.2f} s  {verdict}{bound_of(text)}", flush=True)
        if verdict != "verified":
            print("    " + "\n    ".join(text.strip().splitlines()[:6]), flush=True)
    return wrong


class Truth:
    """What float64 says of mutants: replay.py runs them, and the job that was not mutated, on gloo."""

    SAME = 1e-12  # relative; what is changed is far above, rounding below

    def __init__(self, ranks):
        import replay
        self.replay = replay
        self.results = replay.replay(ranks)

    def of(self, ranks):
        """(is it another computation, in words)"""
        try:
            far, name = self.replay.apart(self.replay.summed(self.results, ranks),
                                          self.replay.summed(self.replay.replay(ranks), ranks))
        except self.replay.ReplayError as error:
            return True, str(error).splitlines()[0][:100]
        return far > self.SAME, f"{far:.1e} in {name}" if far else "the same bits"


def judge_mutants(runner, single, job, truth, args):
    """(kind, place, verdict, is it another computation or None, in words) of each mutant."""
    for kind, place, ranks in mutants.mutants(job, args.most):
        mutants.write(ranks, runner.work / "mutant")
        verdict, _, _ = runner.verdict(single, runner.work / "mutant")
        is_asked = truth is not None and (args.check_all or verdict == "verified")
        yield (kind, place, verdict, *(truth.of(ranks) if is_asked else (None, "")))


def run_mutants(runner, prefix, args):
    total, wrong = {}, 0
    print(f"{'set-up':32} {'kind':15} {'mutants':>7} {'refuted':>7} {'unjudged':>8} {'verified':>8} {'changed':>8}")
    for name, (script, single, parallel, world, layout) in SETUPS.items():
        keys = (f"setups/{script}", single, None, None), (f"setups/{script}", parallel, world, layout)
        if not name.startswith(prefix) or runner.compare(*keys)[0] != "verified":
            continue
        counts, told = {}, []
        job = mutants.Job(runner.capture(*keys[1])[0])
        truth = Truth(job.ranks) if args.check_survivors or args.check_all else None
        for kind, place, verdict, is_changed, words in judge_mutants(runner, runner.capture(*keys[0])[0], job, truth, args):
            missed = verdict == "verified" and is_changed
            wrong += bool(missed)
            for count in counts.setdefault(kind, {}), total.setdefault(kind, {}):
                count[verdict] = count.get(verdict, 0) + 1
                count["changed"] = count.get("changed", 0) + bool(missed)
            if verdict == "verified" or is_changed is False:
                told.append(f"{'MISSED ' if missed else ''}{verdict}: {kind}: {place}" + (f": {words}" if words else ""))
        for kind, count in counts.items():
            print_mutants(name, kind, count)
        print("".join(f"    {text}\n" for text in sorted(set(told))), end="", flush=True)
    for kind, count in total.items():
        print_mutants("all", kind, count)
    return wrong


def print_mutants(name, kind, count):
    n = sum(count.get(verdict, 0) for verdict in ("refuted", "unjudged", "verified", "error"))
    print(f"{name:32} {kind:15} {n:7} {count.get('refuted', 0):7} {count.get('unjudged', 0):8} "
          f"{count.get('verified', 0):8} {count.get('changed', 0):8}", flush=True)


# ---- real ranks

def capture_real(runner, script, options, world, layout):
    """(folder of the plans of a job on gloo, or None; what was said)"""
    folder = runner.work / "real"
    shutil.rmtree(folder, ignore_errors=True)
    more = ["--plan-layout", HERE / "setups" / f"{layout}.layout"] if layout else []
    done = runner.run("traincheck-collect", "--python", runner.python, "--plan", folder, *more, "--", runner.python, "-m",
                      "torch.distributed.run", "--standalone", "--nproc-per-node", world, f"{script}.py", *options.split())
    return (None if done.returncode else folder), done.stderr


def words_of(rank):
    """Names and lines of a rank's operators."""
    return [(line["op"], line["src"][0]) for line in rank if "op" in line]


def run_real(runner, prefix):
    """The plan of fake ranks beside that of real ones: operators, verdict, results in float64."""
    import replay
    wrong = 0
    print(f"{'set-up':32} {'ranks':>5} {'fake':>6} {'real':>6} {'operators':10} {'verdict':9} results in float64")
    for name, (script, single, parallel, world, layout) in SETUPS.items():
        if not name.startswith(prefix):
            continue
        reference, _ = runner.capture(f"setups/{script}", single)
        fake, _ = runner.capture(f"setups/{script}", parallel, world, layout)
        folder, said = capture_real(runner, f"setups/{script}", parallel, world, layout)
        if not (reference and fake and folder):
            print(f"{name:32} {world:5} no plan: {(said.strip().splitlines() or ['?'])[-1][:100]}", flush=True)
            wrong += 1
            continue
        plans = [replay.plans_of(fake), replay.plans_of(folder)]
        words = [[words_of(rank) for rank in plan] for plan in plans]
        verdict, _, _ = runner.verdict(reference, folder)
        try:
            results = [replay.summed(replay.replay(plan), plan) for plan in plans]
            far = f"{replay.apart(*results)[0]:.0e}"
        except replay.ReplayError as error:
            far = str(error)[:60]
        same = "equal" if words[0] == words[1] else "differ"
        wrong += same != "equal" or verdict != "verified"
        counts = [sum(map(len, ranks)) for ranks in words]
        print(f"{name:32} {world:5} {counts[0]:6} {counts[1]:6} {same:10} {verdict:9} {far}", flush=True)
    return wrong


# ---- bugs

def declared(path):
    """RUN of a bug's script, and the number of its line marked wrong. A line with a comment alone runs nothing: what is
    missing there is missing after the line before."""
    text = path.read_text()
    lines = text.splitlines()
    run = next(ast.literal_eval(node.value) for node in ast.parse(text).body
               if isinstance(node, ast.Assign) and node.targets[0].id == "RUN")
    marked = [n - lines[n - 1].lstrip().startswith("#") for n, line in enumerate(lines, 1)
              if "# wrong" in line and not line.startswith("RUN")]
    return run, marked[0] if marked else None


def wanted_line(path, run, marked):
    """`file:line` that a report must name, or "" for none in particular."""
    _, file, text = run["names"]
    if text == "# wrong":
        return f"{path.name}:{marked}"
    if not text:
        return file
    lines = (HERE / file).read_text().splitlines()
    return [f"{pathlib.Path(file).name}:{n}" for n, line in enumerate(lines, 1) if text in line]


def is_named(report, wanted):
    options = wanted if isinstance(wanted, list) else [wanted]
    return any(re.search(re.escape(option) + r"\b", report) for option in options)


def place_of(report, wanted):
    """Is the line that is wanted in the first line of the report, in its first violation, elsewhere, or nowhere?"""
    lines = report.splitlines()
    end = next((i for i in range(1, len(lines)) if not lines[i].startswith("    ")), len(lines))
    parts = {"first": lines[:1], "below": lines[:end], "later": lines}
    return next((place for place, part in parts.items() if is_named("\n".join(part), wanted)), "no")


def run_bugs(runner, prefix):
    missed = poor = n = 0
    places = {}
    print(f"{'bug':28} {'verdict':9} {'operator':9} {'line':5} first words")
    for path in sorted((HERE / "bugs").glob(f"{prefix}*.py")):
        run, marked = declared(path)
        setup = next(line.split()[1] for line in path.read_text().splitlines()
                     if re.match(r"import \w+  # noqa", line) and (HERE / "setups" / (line.split()[1] + ".py")).exists())
        single = f"bugs/{path.stem}" if run.get("single") else f"setups/{setup}"
        layout = run.get("layout", "megatron" if setup == "megatron" else None)
        verdict, text, _ = runner.compare((single, run.get("single_options", ""), None, None),
                                          (f"bugs/{path.stem}", run["options"], run["world"], layout))
        first = "\n".join(line for line in text.splitlines() if not line.startswith(("traincheck-", "note: ")))
        operator, line = is_operator(first, run["names"][0]), place_of(first, wanted_line(path, run, marked))
        places[line] = places.get(line, 0) + 1
        n, missed, poor = n + 1, missed + (verdict != "refuted"), poor + (not (operator and line != "no"))
        print(f"{path.stem:28} {verdict:9} {'yes' if operator else 'no':9} {line:5} "
              f"{first.strip().splitlines()[0][:150] if first.strip() else ''}", flush=True)
    print(f"{n} bugs, {n - missed} refuted, {n - poor} with operator and line; the line is in the first line for "
          f"{places.get('first', 0)}, in the first violation for {places.get('first', 0) + places.get('below', 0)}")
    return missed


def is_operator(report, word):
    """Does the report name the operator, or, for a wrong factor, say the factor?"""
    return " times " in report if word == "factor" else word in report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--most", type=int, default=4, help="mutants of each kind of a set-up")
    parser.add_argument("--check-survivors", action="store_true", help="run mutants that are verified in float64")
    parser.add_argument("--check-all", action="store_true", help="run all mutants in float64, those that are refuted, too")
    parser.add_argument("--jobs", "-j", type=int, default=2)
    parser.add_argument("--plans", metavar="DIR", help="keep the plans there, and take those that it has")
    parser.add_argument("what", nargs="?", choices=("setups", "bugs", "mutants", "real"))
    parser.add_argument("prefix", nargs="?", default="")
    args = parser.parse_args()
    runner = Runner(args.bin, args.python, args.jobs, args.plans)
    wrong = 0
    try:
        if args.what in (None, "setups"):
            wrong += run_setups(runner, args.prefix)
        if args.what in (None, "bugs"):
            wrong += run_bugs(runner, args.prefix)
        if args.what == "real":
            wrong += run_real(runner, args.prefix)
        if args.what == "mutants":
            wrong += run_mutants(runner, args.prefix, args)
    finally:
        runner.close()
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
