#!/usr/bin/env python3
"""What collecting a trace costs: each program with and without the collector, run in turns.

In every other pair the traced run comes first. Prints, for each program and mode, min / median / max over the pairs of
  step    time of a step, traced : plain (the median step of each run, the first ones left out)
  cpu     the same of processor time of the thread that trains, which other jobs on the machine
          disturb less
  whole   processor time of that thread in all steps but the first ones, traced : plain
  start   seconds that the first step comes later
and the bytes of trace per step and the growth of the peak of memory.

Modes:
  full      everything
  no-content: the same with --content off
  selective 100 invariants, about variables too, learned from a full trace of the same program
  lean      the invariants of infer --specific --lean, of one full trace; not unless asked for
  sampled   one step in ten
  budget    --budget 2%: it holds for all steps together, as the median one is left out
  again     the plain run once more: what chance makes of a ratio on this machine
  upstream  the Python tool (traincheck 0.2.0), full;  with --upstream
  upstream-selective: 100 of the invariants that it learned itself from a short run, each step traced; to
            infer them takes minutes per program
  no-operators  the same as full with --no-operators: not what the script's own lines compute; not unless asked for
"""
import argparse
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
# Steps of a run: five seconds or so, as shorter ones measure the machine's moods.
PROGRAMS = {"cnn": 60, "gpt": 100, "resnet": 40, "lstm": 300, "vae": 400, "ddp": 100, "small": 2000}
# Those of programs/device.py, on an accelerator: not unless asked for (device.sh asks for all).
ON_DEVICE = {"resnet50": 40, "gpt2": 40, "gpt2-compiled": 40, "llama1b": 30}
MODES = ("full", "selective", "sampled", "budget", "again", "no-content", "upstream", "upstream-selective", "no-operators", "lean")
WARM_UP = 10  # steps left out of the figures: as many as a budget leaves out of its own
N_INVARIANTS = 100


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build" / "bin",
                        help="folder of traincheck-collect and traincheck-infer")
    parser.add_argument("--python", type=os.path.abspath, default=sys.executable, help="interpreter with torch")
    parser.add_argument("--upstream", type=pathlib.Path,
                        help="bin/ of a virtual environment with the Python tool and torch")
    parser.add_argument("--only", nargs="+", choices=[*PROGRAMS, *ON_DEVICE], default=list(PROGRAMS), metavar="PROGRAM")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=None, metavar="MODE")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of each run (default: as many as take five seconds)")
    parser.add_argument("--limit", type=int, default=1800, help="seconds for one command (default 1800)")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    arguments = parser.parse_args()
    if arguments.modes is None:
        arguments.modes = MODES[:7] if arguments.upstream else MODES[:6]
    if not arguments.upstream and any(m.startswith("upstream") for m in arguments.modes):
        parser.error("these modes need --upstream")
    if arguments.steps is not None and arguments.steps <= WARM_UP + 2:
        parser.error(f"--steps: more than {WARM_UP + 2}")
    arguments.bin = arguments.bin.resolve()
    arguments.upstream = arguments.upstream and arguments.upstream.resolve()
    return arguments


class Program:
    """One program of programs/, with a folder for what its runs leave."""

    def __init__(self, name, arguments, work):
        self.name, self.arguments, self.work = name, arguments, work / name
        self.work.mkdir()
        self.script = HERE / "programs" / ("device.py" if name in ON_DEVICE else f"{name}.py")
        self.steps = arguments.steps or PROGRAMS.get(name) or ON_DEVICE[name]

    def _execute(self, command, steps=None):
        out = self.work / "figures.json"
        out.unlink(missing_ok=True)
        env = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **os.environ,
               "BENCH_STEPS": str(steps or self.steps), "BENCH_OUT": str(out), "BENCH_MODEL": self.name,
               "BENCH_BEGIN": repr(time.monotonic())}
        done = harness.run_limited(command, self.arguments.limit, cwd=self.work, env=env)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or [""]
            said = lines[0] if done.returncode == 125 else lines[-1]  # a traceback's last line
            raise harness.Failed(f"{pathlib.Path(command[0]).name}: exit {done.returncode}: {said}")
        return json.loads(out.read_text()) if out.exists() else None

    def plain(self):
        return self._execute([self.arguments.python, self.script])

    def again(self):
        return {**self.plain(), "bytes": 0}

    def _traced(self, folder, *options):
        folder = self.work / folder
        figures = self._execute([self.arguments.bin / "traincheck-collect", "-q", "--overwrite",
                                 "--python", self.arguments.python, "-o", folder, *options, self.script])
        return self._with_bytes(figures, folder, "trace_*")

    def _with_bytes(self, figures, folder, *patterns):
        if figures is None:
            raise harness.Failed("the program wrote no figures")
        files = [f for pattern in patterns for f in folder.glob(pattern)]
        figures["bytes"] = sum(f.stat().st_size for f in files) / self.steps
        return figures

    def full(self):
        return self._traced("full")

    def no_content(self):
        return self._traced("no_content", "--content", "off")

    def no_operators(self):
        return self._traced("no-operators", "--no-operators")

    def sampled(self):
        return self._traced("sampled", "--sampling-interval", "10")

    def budget(self):
        return self._traced("budget", "--budget", "2%")

    def selective(self):
        selection = self.work / "selection.jsonl"
        if not selection.exists():
            self._learn(selection)
        return self._traced("selective", "-i", selection)

    def lean(self):
        selection = self.work / "lean.jsonl"
        if not selection.exists():
            self._infer(selection, "--specific", "--lean")
        return self._traced("lean", "-i", selection)

    def _infer(self, out, *options):
        if not (self.work / "full").exists():
            self.full()
        self._execute([self.arguments.bin / "traincheck-infer", "-q", "-o", out, *options, self.work / "full"])

    def _learn(self, selection):
        learned = self.work / "learned.jsonl"
        self._infer(learned, "--keep-implied")
        head, *lines = learned.read_text().splitlines()
        lines = spread(lines, lambda line: json.loads(line)["relation"])
        selection.write_text("\n".join([head, *lines]) + "\n")

    def upstream(self, *options, steps=None):
        folder = self.work / "upstream"
        shutil.rmtree(folder, ignore_errors=True)
        command = [self.arguments.upstream / "traincheck-collect", "--pyscript", self.script,
                   "--models-to-track", "model", "--output-dir", folder, *options]
        try:
            figures = self._execute(command, steps)
        finally:
            (HERE / "programs" / f"_traincheck_{self.name}.py").unlink(missing_ok=True)
        return self._with_bytes(figures, folder, "trace_*", "proxy_log*")

    def upstream_selective(self):
        selection = self.work / "upstream_selection.jsonl"
        if not selection.exists():
            self.upstream(steps=WARM_UP)
            learned = self.work / "upstream_learned.jsonl"
            self._execute([self.arguments.upstream / "traincheck-infer", "-f", self.work / "upstream", "-o", learned])
            lines = spread(learned.read_text().splitlines(), lambda line: str(json.loads(line)["relation"]))
            selection.write_text("\n".join(lines) + "\n")
        return self.upstream("--invariants", selection, "--sampling-interval", "1", "--warm-up-steps", "1")


def spread(lines, kind):
    """N_INVARIANTS of them, of each kind in turn."""
    kinds = {}
    for line in lines:
        kinds.setdefault(kind(line), []).append(line)
    turns = itertools.chain.from_iterable(itertools.zip_longest(*kinds.values()))
    return [line for line in turns if line is not None][:N_INVARIANTS]


def step_of(figures, clock):
    return statistics.median(figures[clock][WARM_UP:])


def whole_of(figures):
    return sum(figures["thread"][WARM_UP:])


def compare(plain, traced):
    if plain.get("losses") != traced.get("losses"):
        raise harness.Failed("the losses are not those of the plain run, bit for bit")
    return {
        "step": step_of(traced, "wall") / step_of(plain, "wall"),
        "cpu": step_of(traced, "thread") / step_of(plain, "thread"),
        "whole": whole_of(traced) / whole_of(plain),
        "start": traced["start"] - plain["start"],
        "bytes": traced["bytes"],
        "rss_mb": (traced["rss_kb"] - plain["rss_kb"]) / 1024,
        "plain_ms": step_of(plain, "wall") * 1e3,
    }


def range_of(pairs, what, form):
    values = [pair[what] for pair in pairs]
    return " ".join(form.format(f(values)) for f in (min, statistics.median, max))


def print_row(name, mode, pairs):
    middle = {what: statistics.median(pair[what] for pair in pairs) for what in pairs[0]}
    print(f"{name:13} {mode:18} {middle['plain_ms']:8.1f}  {range_of(pairs, 'step', '{:6.2f}')}  "
          f"{range_of(pairs, 'cpu', '{:6.3f}')}  "
          f"{range_of(pairs, 'whole', '{:6.3f}')}  {range_of(pairs, 'start', '{:6.2f}')}  "
          f"{middle['bytes']:10.0f}  {middle['rss_mb']:6.1f}", flush=True)


def pair(program, mode, traced_first):
    runs = {"plain": program.plain, "traced": getattr(program, mode.replace("-", "_"))}
    return compare(**{name: runs[name]() for name in (reversed(runs) if traced_first else runs)})


def measure(program, modes, n_pairs):
    """{mode: its pairs, or why there are none}. One that fails after others went well is told and left out."""
    found = {mode: [] for mode in modes}
    for turn in range(n_pairs):
        for mode in modes:
            if not isinstance(found[mode], list):
                continue
            try:
                found[mode].append(pair(program, mode, turn % 2 == 1))
            except (harness.Failed, subprocess.TimeoutExpired) as error:
                if found[mode]:
                    print(f"{program.name} {mode}, pair {turn + 1}: {error}", file=sys.stderr)
                else:
                    found[mode] = str(error)
    return found


def main():
    arguments = parse()
    figures = {}
    print(f"{'program':13} {'mode':18} {'plain ms':>8}  {'step min/median/max':20}  {'cpu min/median/max':20}  "
          f"{'whole min/median/max':20}  "
          f"{'start s min/med/max':20}  {'bytes/step':>10}  {'MB':>6}")
    with tempfile.TemporaryDirectory(prefix="tc-bench-") as work:
        for name in arguments.only:
            program = Program(name, arguments, pathlib.Path(work))
            figures[name] = measure(program, arguments.modes, arguments.pairs)
            for mode, pairs in figures[name].items():
                if isinstance(pairs, list):
                    print_row(name, mode, pairs)
                else:
                    print(f"{name:13} {mode:18} {pairs}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
