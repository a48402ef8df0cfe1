#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the traces of pipelines with those of the same pipelines whose tensors are asked as if they lay on an accelerator.

usage: elsewhere.py [--bin build/bin] [--python PYTHON] [--late STANDIN] [--options "--content full"] [PIPELINE ...]

Without PIPELINE all that run in one process. All records must be the same, in the same order, but for their times. --late: the answers
come late, by the stand-in for the driver that the build has at tests/python/standin/libcuda.so.1. Prints a line for each; exit status 1
if one differs. Each runs twice: some 30 s, and 40 minutes for all."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIPELINES = ROOT / "benchmarks" / "pipelines"
TESTS = ROOT / "tests" / "python"
sys.path.insert(0, str(TESTS))
from traced import decode  # noqa: E402

LATE = "import os, runpy, sys\n" \
       "if 'STANDIN' in os.environ:\n    runpy.run_path(os.environ['STANDIN_SCRIPT'])\n" \
       "sys.path.insert(0, os.path.dirname(sys.argv[1]))\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"


def records(folder):
    """Of each process, without its first record and all times."""
    found = []
    for file in sorted(folder.glob("trace_*")):
        found.append([{key: value for key, value in json.loads(line).items() if key != "t"} for line in decode(file).splitlines()[1:]])
    return found


def trace(args, script, folder, env):
    work = folder.with_name(folder.name + "-work")
    work.mkdir()
    (work / "late.py").write_text(LATE)
    command = [args.bin / "traincheck-collect", "--python", args.python, "-q", "-o", folder, *args.options.split(), "late.py", script]
    done = subprocess.run(command, cwd=work, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", **env}, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"{script.name}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return records(folder)


def compare(args, name):
    """What differs, or None; and the number of records."""
    there = {"TRAINCHECK_TEST_ELSEWHERE": "1"}
    if args.late:
        there |= {"STANDIN": str(args.late), "STANDIN_SCRIPT": str(TESTS / "standin.py"), "ASKS_DRIVER": "1"}
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        a = trace(args, PIPELINES / f"{name}.py", work / "cpu", {})
        b = trace(args, PIPELINES / f"{name}.py", work / "elsewhere", there)
    n = sum(map(len, a))
    if len(a) != len(b):
        return f"{len(a)} files and {len(b)}", n
    for one, other in zip(a, b):
        for i, (x, y) in enumerate(zip(one, other)):
            if x != y:
                return f"record {i + 2}:\n    {json.dumps(x)[:1000]}\n    {json.dumps(y)[:1000]}", n
        if len(one) != len(other):
            return f"{len(one)} records and {len(other)}", n
    return None, n


def all_names():
    listed = json.loads((PIPELINES / "pipelines.json").read_text())
    return [name for name, entry in listed.items() if entry.get("ranks", 1) == 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--late", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--options", default="", help="of traincheck-collect")
    parser.add_argument("pipelines", nargs="*", metavar="PIPELINE")
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    n_different = 0
    for name in args.pipelines or all_names():
        difference, n = compare(args, name)
        n_different += difference is not None
        print(f"{name}: {n} records, " + ("the same" if difference is None else f"different: {difference}"), flush=True)
    sys.exit(n_different > 0)


if __name__ == "__main__":
    main()
