#!/usr/bin/env python3
"""What one call costs that tracing redirects, in nanoseconds of the fastest loop, or in instructions.

  plain         without the collector
  traced        two records are written for each call of an API
  not selected  selective mode, and no invariant speaks of the API
  left out      a step that sampling leaves out

The runs are made in turns, --pairs times; the smallest figure of each is printed, and in brackets
what it is above the plain one.

With --instructions valgrind counts: what a call executes in the thread that calls, and in brackets in
all threads, which is with the writing of the trace; of a traced call what it is above the plain one.
Another run differs by some percent, whatever else the machine does. Both loops run in children of one
interpreter that has imported torch, as valgrind takes most of a minute for that.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))
from warm import warm_python  # noqa: E402

PROGRAM = HERE / "programs" / "calls.py"
# Selects what is always traced, the calls that make up a training loop, and no more.
SELECTION = (
    {"traincheck": "invariants", "schema": 1, "made_by": "benchmarks/collect/calls.py"},
    {"id": "AS-00000000", "relation": "APISequence/window",
     "params": [{"call": "torch.optim.Optimizer.zero_grad", "role": "zero_grad"}], "when": [],
     "text": "every training step has Optimizer.zero_grad()"},
)
MODES = ("plain", "traced", "not selected", "left out")
COUNTED = ("plain", "traced")
VALGRIND = ("valgrind", "-q", "--trace-children=yes", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes",
            "--dump-before=getppid", "--trace-children-skip=*callgrind_control")
N_DUMPS = 4  # of each loop


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build" / "bin",
                        help="folder of traincheck-collect")
    parser.add_argument("--python", default=sys.executable, help="interpreter with torch")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--instructions", action="store_true", help="count them by valgrind")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="with --instructions, write what is above the plain call: {kind: [thread, all]}")
    return parser.parse_args()


def run(mode, arguments, work, **more_env):
    out, selection = work / "figures.json", work / "selection.jsonl"
    out.unlink(missing_ok=True)
    options = {"plain": None, "traced": (), "not selected": ("-i", selection),
               "left out": ("--sampling-interval", "1000000")}[mode]
    command = [arguments.python, PROGRAM]
    if options is not None:
        command = [arguments.bin.resolve() / "traincheck-collect", "-q", "--overwrite", "--python",
                   arguments.python, "-o", work / "trace", *options, PROGRAM]
    env = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **os.environ, "BENCH_OUT": str(out), **more_env}
    subprocess.run([str(part) for part in command], cwd=work, env=env, check=True)
    return json.loads(out.read_text())


def time_calls(arguments, work):
    best = {mode: {} for mode in MODES}
    for _ in range(arguments.pairs):
        for mode in MODES:
            for kind, ns in run(mode, arguments, work).items():
                best[mode][kind] = min(ns, best[mode].get(kind, ns))
    print(f"{'ns a call':34}" + "".join(f"{mode:>18}" for mode in MODES))
    for kind, plain in best["plain"].items():
        cells = "".join(f"{best[mode][kind]:8.0f} ({best[mode][kind] - plain:+6.0f})" + " " * 1
                        for mode in MODES[1:])
        print(f"{kind:34}{plain:18.0f} {cells}".rstrip())


# ---- instructions ----

def read_dumps(work):
    """{number of the dump: (instructions of the main thread, of the others)}"""
    dumps = {}
    for path in work.glob("counted.*"):
        number = re.fullmatch(r"counted\.\d+\.(\d+)-(\d+)", path.name)
        total = re.search(r"^totals: (\d+)", path.read_text(), re.M) if number else None
        if total:
            dumps.setdefault(int(number[1]), [0, 0])[int(number[2]) > 1] += int(total[1])
        path.unlink()
    return dumps


def of_loop(dumps, i):
    """What loop i took: [instructions of the main thread, of all]"""
    thread, others = dumps[N_DUMPS * i + 3][0], dumps[N_DUMPS * i + 4][1]
    return thread, thread + others


def count(mode, arguments, work):
    """{kind: [instructions a call in the thread that calls, in all]}"""
    counted = run(mode, arguments, work, BENCH_COUNT="1")
    dumps, n_loops, of_kind = read_dumps(work), 0, {}
    for kind, calls in counted.items():
        few, many = (of_loop(dumps, n_loops + i) for i in (1, 2))  # the first is for warming up
        of_kind[kind] = [(m - f) / (calls[2] - calls[1]) for f, m in zip(few, many)]
        n_loops += len(calls)
    return of_kind


def count_calls(arguments, work):
    below = *VALGRIND, f"--callgrind-out-file={work}/counted.%p"
    arguments.python = warm_python(arguments.python, below=below, OMP_NUM_THREADS=os.environ.get("OMP_NUM_THREADS", "1"))
    of_mode = {mode: count(mode, arguments, work) for mode in COUNTED}
    above = {kind: [t - p for t, p in zip(of_mode["traced"][kind], plain)] for kind, plain in of_mode["plain"].items()}
    if arguments.json:
        arguments.json.write_text(json.dumps(above))
    print(f"{'instructions a call':34}" + "".join(f"{mode:>18}" for mode in ("plain", "traced above it")))
    for kind, (thread, everywhere) in above.items():
        print(f"{kind:34}{of_mode['plain'][kind][0]:18.0f}{thread:9.0f} ({everywhere:6.0f})")


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory(prefix="tc-bench-") as folder:
        work = pathlib.Path(folder)
        (work / "selection.jsonl").write_text("".join(json.dumps(line) + "\n" for line in SELECTION))
        (count_calls if arguments.instructions else time_calls)(arguments, work)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
