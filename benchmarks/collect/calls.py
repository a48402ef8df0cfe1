#!/usr/bin/env python3
"""What one call costs that tracing redirects, in nanoseconds of the fastest loop.

  plain         without the collector
  traced        two records are written for each call of an API
  not selected  selective mode, and no invariant speaks of the API
  left out      a step that sampling leaves out

The runs are made in turns, --pairs times; the smallest figure of each is printed, and in brackets
what it is above the plain one.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "programs" / "calls.py"
# Selects what is always traced, the calls that make up a training loop, and no more.
SELECTION = (
    {"traincheck": "invariants", "schema": 1, "made_by": "benchmarks/collect/calls.py"},
    {"id": "AS-00000000", "relation": "APISequence/window",
     "params": [{"call": "torch.optim.Optimizer.zero_grad", "role": "zero_grad"}], "when": [],
     "text": "every training step has Optimizer.zero_grad()"},
)
MODES = ("plain", "traced", "not selected", "left out")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build" / "bin",
                        help="folder of traincheck-collect")
    parser.add_argument("--python", default=sys.executable, help="interpreter with torch")
    parser.add_argument("--pairs", type=int, default=3)
    return parser.parse_args()


def run(mode, arguments, work):
    out, selection = work / "figures.json", work / "selection.jsonl"
    out.unlink(missing_ok=True)
    options = {"plain": None, "traced": (), "not selected": ("-i", selection),
               "left out": ("--sampling-interval", "1000000")}[mode]
    command = [arguments.python, PROGRAM]
    if options is not None:
        command = [arguments.bin.resolve() / "traincheck-collect", "-q", "--overwrite", "--python",
                   arguments.python, "-o", work / "trace", *options, PROGRAM]
    env = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **os.environ, "BENCH_OUT": str(out)}
    subprocess.run([str(part) for part in command], cwd=work, env=env, check=True)
    return json.loads(out.read_text())


def main():
    arguments = parse()
    best = {mode: {} for mode in MODES}
    with tempfile.TemporaryDirectory(prefix="tc-bench-") as folder:
        work = pathlib.Path(folder)
        (work / "selection.jsonl").write_text("".join(json.dumps(line) + "\n" for line in SELECTION))
        for _ in range(arguments.pairs):
            for mode in MODES:
                for kind, ns in run(mode, arguments, work).items():
                    best[mode][kind] = min(ns, best[mode].get(kind, ns))
    print(f"{'ns a call':34}" + "".join(f"{mode:>18}" for mode in MODES))
    for kind, plain in best["plain"].items():
        cells = "".join(f"{best[mode][kind]:8.0f} ({best[mode][kind] - plain:+6.0f})" + " " * 1
                        for mode in MODES[1:])
        print(f"{kind:34}{plain:18.0f} {cells}".rstrip())


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
