#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the traces of pipelines with those of the same pipelines whose tensors are asked as if they lay on an accelerator.

usage: elsewhere.py [--bin build/bin] [--python PYTHON] [--kernel | --late] [--standin build/tests/python/standin] [--steps x0.1]
                    [--options "--content full"] [PIPELINE ...]

Without PIPELINE all that run in one process. All records must be the same, in the same order, but for their times.
--kernel: the device is one of CUDA; its driver and the compiler of its kernel are stand-ins, which the build has. --late: operators of
torch ask it, and the answers come late by that stand-in. Without either they come at once.

Prints a line for each, with --kernel what was called of the driver; exit status 1 if one differs. Each runs twice: some 30 s, and 40
minutes for all."""

import argparse
import json
import os
import pathlib
import re
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
    """Of each process, without its first record, all times and the names of temporary folders."""
    found = []
    for file in sorted(folder.glob("trace_*")):
        lines = re.sub(r"/tmp\w{6,}", "/tmp", decode(file)).splitlines()[1:]
        found.append([{key: value for key, value in json.loads(line).items() if key != "t"} for line in lines])
    return found


def trace(args, script, folder, env):
    work = folder.with_name(folder.name + "-work")
    work.mkdir()
    (work / "late.py").write_text(LATE)
    steps = ["--steps", args.steps] if args.steps else []
    command = [args.bin / "traincheck-collect", "--python", args.python, "-q", "-o", folder, *args.options.split(), "late.py", script, *steps]
    done = subprocess.run(command, cwd=work, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", **env}, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"{script.name}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return records(folder)


def there(args, report):
    """The environment in which the CPU is taken for an accelerator."""
    standin = {"STANDIN": str(args.standin / "libcuda.so.1")}
    if args.kernel:
        return standin | {"TRAINCHECK_TEST_ELSEWHERE": "cuda", "STANDIN_SCRIPT": str(TESTS / "standin_kernel.py"),
                          "STANDIN_REPORT": str(report), "LD_LIBRARY_PATH": str(args.standin)}
    if args.late:
        return standin | {"TRAINCHECK_TEST_ELSEWHERE": "1", "STANDIN_SCRIPT": str(TESTS / "standin.py"), "ASKS_DRIVER": "1"}
    return {"TRAINCHECK_TEST_ELSEWHERE": "1"}


def counts(report):
    n = json.loads(report.read_text()) if report.exists() else None
    return "" if n is None else (f", {n['cuLaunchKernel']} launches, {n['cuMemcpyDtoHAsync_v2']} copies of {n['bytes']:,} bytes, "
                                 f"{n['cuEventSynchronize']} waits")


def compare(args, name):
    """What differs, or None; the number of records; what was called."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        a = trace(args, PIPELINES / f"{name}.py", work / "cpu", {})
        b = trace(args, PIPELINES / f"{name}.py", work / "elsewhere", there(args, work / "report.json"))
        called = counts(work / "report.json")
    n = sum(map(len, a))
    return difference(a, b), n, called


def difference(a, b):
    if len(a) != len(b):
        return f"{len(a)} files and {len(b)}"
    for one, other in zip(a, b):
        for i, (x, y) in enumerate(zip(one, other)):
            if x != y:
                return f"record {i + 2}:\n    {json.dumps(x)[:1000]}\n    {json.dumps(y)[:1000]}"
        if len(one) != len(other):
            return f"{len(one)} records and {len(other)}"
    return None


def all_names():
    listed = json.loads((PIPELINES / "pipelines.json").read_text())
    return [name for name, entry in listed.items() if entry.get("ranks", 1) == 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--python", default=sys.executable)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--kernel", action="store_true", help="a device of CUDA")
    how.add_argument("--late", action="store_true", help="answers that come late")
    parser.add_argument("--standin", type=lambda path: pathlib.Path(path).resolve(), default=ROOT / "build" / "tests" / "python" / "standin")
    parser.add_argument("--steps", help="of each pipeline, as x0.1")
    parser.add_argument("--options", default="", help="of traincheck-collect")
    parser.add_argument("pipelines", nargs="*", metavar="PIPELINE")
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    n_different = 0
    for name in args.pipelines or all_names():
        differs, n, called = compare(args, name)
        n_different += differs is not None
        print(f"{name}: {n} records, " + ("the same" if differs is None else f"different: {differs}") + called, flush=True)
    sys.exit(n_different > 0)


if __name__ == "__main__":
    main()
