#!/usr/bin/env python3
"""Capture and verify a script with the layout of Llama 3 405B: 126 layers, tp 8, pp 16, dp 64, 8,192 ranks, a reduced width.

usage: layout405b.py --bin BUILD/bin [--python PYTHON] [--plans DIR] [--cp CP] [PPxDPxTPxLAYERS]     default 16x64x8x126

Without a GPU: setups/four_axes.py runs on a fake process group. One rank of each stage, context and tensor position is
captured, its copies along dp are retargeted. With --cp there is ring attention, and the loss is loss_parallel's. With
--plans the plans stay there, and a second run takes them. Capturing takes some 6 s of processor time a rank."""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def run(*command):
    """(seconds of wall clock, seconds of processor time, peak MB of the largest process so far)"""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([str(part) for part in command], cwd=HERE, env={**os.environ, "OMP_NUM_THREADS": "1"},
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{pathlib.Path(command[0]).name} ended with {done.returncode}")
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, used, after.ru_maxrss / 1024, done.stdout


def size_of(folder):
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


def capture(options, name, folder, *more):
    if folder.exists():
        print(f"{name}: already there, {size_of(folder):.0f} MB")
        return
    took, used, peak, _ = run(options.bin / "traincheck-collect", "--python", options.python, "--plan", folder, *more)
    print(f"{name}: {took:.0f} s, {used:.0f} s of processor time, {peak:.0f} MB, {size_of(folder):.0f} MB of plans", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--plans", type=pathlib.Path)
    parser.add_argument("--jobs", "-j", default="2")
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("layout", nargs="?", default="16x64x8x126")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    pp, dp, tp, layers = map(int, options.layout.split("x"))
    with tempfile.TemporaryDirectory() as temp:
        folder = (options.plans or pathlib.Path(temp)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        cp, of_stage, of_copy = options.cp, dp * options.cp * tp, options.cp * tp
        script = ["setups/four_axes.py", "--layers", layers]
        split = ["--pp", pp, "--dp", dp, "--tp", tp]
        if cp > 1:
            script += ["--length", 3 * cp]
            split += ["--cp", cp, "--loss-parallel"]
        roles = ",".join(f"{stage * of_stage}-{stage * of_stage + of_copy - 1}" for stage in range(pp))
        capture(options, "single device", folder / "single", *script)
        capture(options, f"{pp * of_copy} of {pp * of_stage} ranks", folder / "parallel", "--plan-world", pp * of_stage,
                "--plan-ranks", roles, "-j", options.jobs, *script, *split)
        took, used, peak, said = run(options.bin / "traincheck-check", "--plan", folder / "parallel", "--plan-reference",
                                     folder / "single", "-o", folder / "report", "-j", options.jobs, "--json", "-q")
        said = json.loads(said.splitlines()[-1])
        print(f"{said['verdict']}: {said['operators']} operators, {took:.1f} s, {used:.1f} s of processor time, "
              f"{said['seeds']} evaluations, error < 2^-{said['error_bits']}, peak of all so far {peak:.0f} MB")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
