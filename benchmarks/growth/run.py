#!/usr/bin/env python3
"""Does the cost of inferring and checking grow in proportion to what there is?

usage: run.py [--bin DIR] [--size N] [--scales N N...] [--runs N] [--only NAME...] [--json FILE]

Synthetic traces of N, 2 N and 4 N (--scales) of one thing (different APIs, calls inside each other and what is inside these, variables, ranks, files, invariants), all else equal. A line each: seconds
of processor time, the smallest of the runs, and the exponent of growth, log of the time over log of the number. An
exponent above 1.1 is marked, and the exit status is then 1.
"""
import argparse
import json
import math
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 1.1


def process(rank=None, world=None):
    record = {"type": "process", "schema": 2, "pid": (rank or 0) + 1, "role": "main", "host": "h", "ppid": 0, "argv": ["x.py"],
              "cwd": "/", "python": "3.11.7", "packages": {"torch": "2.13.0"}, "mode": "full", "monotonic_ns": 1, "unix_ns": 1}
    return record | ({"rank": rank, "world_size": world} if world else {})


def call(i, fn, t, **more):
    yield {"type": "call", "id": i, "fn": fn, "t": t, "step": 0, "by": "user", "at": "x.py:1", **more}
    yield {"type": "return", "id": i, "t": t + 1}


def write(folder, name, records):
    folder.mkdir(exist_ok=True)
    with open(folder / name, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(r) + "\n" for r in records)


def apis(folder, n):
    def records():
        yield process()
        for i in range(n):
            yield {"type": "api", "fn": f"a.b{i}", "role": "function"}
            yield from call(i, f"a.b{i}", 2 * i)
    write(folder, "trace_h_r-_p1.jsonl", records())


def nested(folder, n):
    """Calls inside each other, none of which returns."""
    def records():
        yield process()
        yield {"type": "api", "fn": "a.b", "role": "function"}
        for i in range(n):
            yield next(call(i, "a.b", i)) | ({"parent": i - 1} if i else {})
    write(folder, "trace_h_r-_p1.jsonl", records())


def inside(folder, n):
    """As many open calls inside each other, then calls and variables inside the innermost one."""
    def records():
        yield process()
        yield {"type": "api", "fn": "a.b", "role": "method"}
        yield {"type": "api", "fn": "c.d", "role": "function"}
        for i in range(n):
            yield next(call(i, "a.b", i)) | ({"parent": i - 1} if i else {})
        for i in range(n):
            yield from call(n + i, "c.d", n + i, parent=n - 1)
            yield {"type": "var", "var": i, "t": n + i, "name": f"m.p{i}", "kind": "Parameter", "attrs": {"data": f"{i:016x}"}}
    write(folder, "trace_h_r-_p1.jsonl", records())


def steps(params, rank=None, world=None, n_steps=4):
    """Steps that clear, compute and change gradients of that many parameters."""
    yield process(rank, world)
    names = {"torch.optim.Optimizer.zero_grad": "zero_grad", "torch.Tensor.backward": "backward", "torch.optim.Optimizer.step": "step"}
    for fn, role in names.items():
        yield {"type": "api", "fn": fn, "role": role}
    t, number = 0, 0
    for i in range(params):
        yield {"type": "var", "var": i, "t": t, "name": f"m.p{i}", "kind": "Parameter",
               "attrs": {"data": f"{i:016x}", "grad": "null", "dtype": "float32", "shape": [2], "requires_grad": True}}
    for step in range(n_steps):
        for fn, role in names.items():
            number, t = number + 1, t + 10
            more = {"params": list(range(params))} if role != "backward" else {}
            first, last = call(number, fn, t, **more)
            yield first | {"step": step, "stage": "training"}
            for i in range(params) if role == "step" else ():
                yield {"type": "var", "var": i, "t": t, "cause": number, "step": step, "attrs": {"data": f"{step * params + i + 7:016x}"}}
            yield last
        yield {"type": "step", "step": step, "t": t + 2, "stage": "training", "why": "data"}


def variables(folder, n):
    write(folder, "trace_h_r-_p1.jsonl", steps(n))


def ranks(folder, n):
    for rank in range(n):
        write(folder, f"trace_h_r{rank}_p{rank + 1}.jsonl", steps(4, rank, n, 2))


def files(folder, n):
    for i in range(n):
        write(folder, f"trace_h_r-_p{i + 1}.jsonl", [process() | {"pid": i + 1}, *list(steps(4, n_steps=2))[1:]])


def invariants(folder, n):
    """A check by n invariants; the trace is the same."""
    write(folder, "trace_h_r-_p1.jsonl", steps(20))
    lines = [{"traincheck": "invariants", "schema": 1}]
    for i in range(n):
        lines.append({"id": f"X-{i}", "relation": "APISequence/window", "when": [],
                      "params": [{"call": "torch.optim.Optimizer.step"}, {"call": f"a.b{i}"}]})
    write(folder, "invariants.jsonl", lines)


# name, maker, the smallest number, tools
CASES = [
    ("apis", apis, 10000, ("infer", "specific", "check")),
    ("nested", nested, 20000, ("infer", "specific", "check")),
    ("inside", inside, 5000, ("infer", "specific", "check")),
    ("variables", variables, 5000, ("infer", "specific", "check")),
    ("ranks", ranks, 2500, ("infer", "check")),
    ("files", files, 5000, ("infer", "check")),
    ("invariants", invariants, 5000, ("check",)),
]


def seconds(command, runs):
    best = math.inf
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1, 3):
            sys.exit(f"{command}: {done.stderr.decode(errors='replace')}")
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def command_of(tool, arguments, work, folder):
    if tool in ("infer", "specific"):
        return [arguments.bin / "traincheck-infer", *(["--specific"] if tool == "specific" else []), "-q", "-j", "1", folder, "-o", work / "learned.jsonl"]
    own = folder / "invariants.jsonl"
    chosen = shutil.move(own, work / "given.jsonl") if own.exists() else work / "given.jsonl"
    return [arguments.bin / "traincheck-check", "-q", "-j", "1", folder, "-i", chosen if os.path.exists(chosen) else "@all", "-o", work / "out"]


def measure(name, make, n, tools, arguments):
    for tool in tools:
        times = []
        for scale in arguments.scales:
            with tempfile.TemporaryDirectory() as work:
                folder = pathlib.Path(work) / "trace"
                make(folder, n * scale)
                times.append(seconds(command_of(tool, arguments, pathlib.Path(work), folder), arguments.runs))
        exponent = math.log(times[-1] / times[0]) / math.log(arguments.scales[-1] / arguments.scales[0])
        marked = "  too steep" if exponent > LIMIT else ""
        print(f"{name:12} {tool:8} {n:7} {'  '.join(f'{t:8.3f} s' for t in times)}   exponent {exponent:5.2f}{marked}", flush=True)
        yield {"of": name, "tool": tool, "n": n, "seconds": times, "exponent": exponent}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build" / "bin")
    parser.add_argument("--size", type=float, default=1, help="times the smallest numbers")
    parser.add_argument("--scales", type=int, nargs="+", default=(1, 2, 4))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = [row for name, make, n, tools in CASES if not arguments.only or name in arguments.only
            for row in measure(name, make, max(1, round(n * arguments.size)), tools, arguments)]
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(any(row["exponent"] > LIMIT for row in rows))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
