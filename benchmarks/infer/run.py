#!/usr/bin/env python3
"""What inference costs: seconds, events, bytes and memory, and how they grow with the trace.

usage: run.py [--bin DIR] [--trace DIR] [--python PYTHON] [--events N] [--growth 1 10 100] [--runs N] [--json FILE]
       run.py --upstream BIN [--steps N] [--limit SECONDS] [--bin DIR] [--python PYTHON] [--runs N] [--json FILE]

A real trace (by default one collected of examples/digits) is repeated, window by window, to N, 10 N and 100 N
records, and learned from; then two copies of the middle one, by one thread and by two. Prints one line each:
  events/s     records by seconds of processor time: neighbours on the machine disturb them little
  MB/s         of JSON, by the same; the files are compressed
  memory       the peak
and the exponent of growth, log of the time over log of the length, and how much sooner two threads are done on the
clock, in pairs that take turns.

With --upstream, bin/ of a virtual environment with torch and traincheck 0.2.0, the question is another one: both
tools, -j 2 each, on mnist.py, N steps in each of its two epochs. The Python tool learns from its own trace; ours
from its own and from that of the Python tool.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import repeat

HERE = pathlib.Path(__file__).resolve().parent
DIGITS, MNIST = HERE.parents[1] / "examples" / "digits" / "train.py", HERE / "mnist.py"
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build" / "bin")
    parser.add_argument("--trace", type=pathlib.Path, help="a trace of one process to repeat")
    parser.add_argument("--python", default=sys.executable, help="interpreter with torch, to collect that trace")
    parser.add_argument("--events", type=int, default=100_000, help="records of the shortest trace")
    parser.add_argument("--growth", type=int, nargs="+", default=[1, 10, 100], metavar="N")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--upstream", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=22, help="of each epoch of mnist.py, 22 at most")
    parser.add_argument("--limit", type=int, default=900, help="seconds after which the Python tool is given up")
    parser.add_argument("--json", type=lambda name: pathlib.Path(name).resolve())
    arguments = parser.parse_args()
    arguments.bin = arguments.bin.resolve()
    arguments.upstream = arguments.upstream and arguments.upstream.resolve()
    return arguments


def proc(pid, name):
    """The text of a file of /proc, or nothing where the process has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""


def peak_of(pid):
    """KiB that the process has used at most. (ru_maxrss would count this interpreter's, which it began as.)"""
    found = re.search(r"VmHWM:\s+(\d+)", proc(pid, "status"))
    return int(found[1]) if found else 0


def now_of(group):
    """KiB that a process group uses now; a page that several share counts once."""
    total = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if proc(pid, "stat").rpartition(")")[2].split()[2:3] == [str(group)]:
            found = re.search(r"^Pss:\s+(\d+)", proc(pid, "smaps_rollup"), re.M)
            total += int(found[1]) if found else 0
    return total


def measure(command, limit=3600, memory=peak_of, pause=0.005, **environment):
    """Run it: seconds on the clock and of processor time, peak of memory, stderr. Past the limit it is given up."""
    begin, peak, done = time.monotonic(), 0, 0
    path = f"{pathlib.Path(command[0]).parent}:{os.environ['PATH']}"  # the Python tool starts "python"
    with tempfile.TemporaryFile("w+") as err:
        pid = os.posix_spawn(command[0], [str(word) for word in command], dict(ENVIRONMENT, PATH=path, **environment),
                             setpgroup=0, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                                                        (os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
        try:
            while not done and time.monotonic() - begin < limit:
                peak = max(peak, memory(pid))
                time.sleep(pause)
                done, status, usage = os.wait4(pid, os.WNOHANG)
        finally:
            if not done:
                os.killpg(pid, signal.SIGKILL)
                _, status, usage = os.wait4(pid, 0)
        wall = time.monotonic() - begin
        err.seek(0)
        text = err.read()
    if status and done:
        sys.exit(f"{' '.join(map(str, command))}: {text[-2000:]}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "mib": peak / 1024, "stderr": text, "is_given_up": not done}


def learn(arguments, work, traces, jobs):
    return measure([arguments.bin / "traincheck-infer", "-j", jobs, "-o", work / "invariants.jsonl", *traces])


def trace(arguments, script, folder, **environment):
    measure([arguments.bin / "traincheck-collect", "--python", arguments.python, "-o", folder, script], **environment)
    return folder


def collect(arguments, work):
    if arguments.trace:
        return arguments.trace
    return trace(arguments, DIGITS, work / "digits")


def row(name, records, runs):
    cpu = statistics.median(r["cpu"] for r in runs)
    megabytes = float(re.search(r"([\d.]+) MB,", runs[0]["stderr"])[1])
    figures = {"trace": name, "records": records, "cpu_s": cpu, "wall_s": statistics.median(r["wall"] for r in runs),
               "events_per_s": records / cpu, "mb_per_s": megabytes / cpu, "mib": max(r["mib"] for r in runs)}
    print(f"{name:12} {records:>10,} {cpu:>8.2f} {figures['wall_s']:>8.2f} {figures['events_per_s']:>12,.0f} "
          f"{figures['mb_per_s']:>8.0f} {figures['mib']:>8.1f}", flush=True)
    return figures


def grow(arguments, work, source):
    rows = []
    print(f"{'trace':12} {'records':>10} {'cpu s':>8} {'wall s':>8} {'events/s':>12} {'MB/s':>8} {'MiB':>8}")
    for n in arguments.growth:
        records = repeat.repeat(source, work / f"{n}x", n * arguments.events)
        rows.append(row(f"{n}x", records, [learn(arguments, work, [work / f"{n}x"], 1) for _ in range(arguments.runs)]))
    for a, b in zip(rows, rows[1:]):
        b["exponent"] = math.log(b["cpu_s"] / a["cpu_s"]) / math.log(b["records"] / a["records"])
        print(f"growth from {a['trace']} to {b['trace']}: exponent {b['exponent']:.3f}")
    return rows


def two_threads(arguments, work):
    """On two copies of the middle trace; the median of pairs that take turns."""
    name = f"{arguments.growth[len(arguments.growth) // 2]}x"
    shutil.copytree(work / name, work / "again")
    traces = [work / name, work / "again"]
    ratios = [learn(arguments, work, traces, 1)["wall"] / learn(arguments, work, traces, 2)["wall"]
              for _ in range(arguments.runs)]
    print(f"two traces of {name} by two threads: {statistics.median(ratios):.2f} times as fast as by one "
          f"({', '.join(f'{r:.2f}' for r in ratios)})")
    return ratios


def records_of(folder):
    """Records of a trace of either tool."""
    total = 0
    for file in [*folder.glob("trace_*"), *folder.glob("proxy_log*")]:
        command = ["zstd", "-dcq", str(file)] if file.suffix == ".zst" else ["cat", str(file)]
        total += subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.count(b"\n")
    return total


def invariants_of(file):
    return sum('"relation"' in line for line in file.open()) if file.exists() else 0


def print_beside(name, figures):
    more = "> " if figures["is_given_up"] else ""
    print(f"{name:34} {figures['records']:>9,} {more + format(figures['wall'], '.3f'):>10} "
          f"{more + format(figures['cpu'], '.3f'):>10} {figures['mib']:>8.1f} {figures['invariants']:>10}", flush=True)


def beside_upstream(arguments, work):
    """Both tools on what each recorded of the same script."""
    work, script = work.resolve(), work / MNIST.name  # the Python tool writes beside the script
    shutil.copy(MNIST, script)
    steps = {"BENCH_STEPS": str(arguments.steps)}
    theirs, ours = work / "theirs", trace(arguments, script, work / "ours", **steps)
    os.chdir(work)  # where it leaves its logs
    measure([arguments.upstream / "traincheck-collect", "--pyscript", script, "--models-to-track", "model",
             "--output-dir", theirs], **steps)
    rows = {}
    print(f"{'-j 2':34} {'records':>9} {'wall s':>10} {'cpu s':>10} {'MiB':>8} {'invariants':>10}")
    for name, folder in (("ours, on its own trace", ours), ("ours, on that of the Python tool", theirs)):
        runs = [learn(arguments, work, [folder], 2) for _ in range(arguments.runs)]
        rows[name] = {key: statistics.median(run[key] for run in runs) for key in ("wall", "cpu", "mib")}
        rows[name] |= {"is_given_up": False, "records": records_of(folder),
                       "invariants": invariants_of(work / "invariants.jsonl")}
        print_beside(name, rows[name])
    name, out = "the Python tool, on its own trace", work / "theirs.jsonl"
    rows[name] = measure([arguments.upstream / "traincheck-infer", "-f", theirs, "-j", "2", "-o", out],
                         limit=arguments.limit, memory=now_of, pause=1)
    del rows[name]["stderr"]
    rows[name] |= {"records": records_of(theirs), "invariants": invariants_of(out)}
    print_beside(name, rows[name])
    for other in list(rows)[:2]:
        print(f"{other}: {rows[name]['wall'] / rows[other]['wall']:,.0f} times as fast on the clock, "
              f"{rows[name]['cpu'] / rows[other]['cpu']:,.0f} times by processor time")
    return rows


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        if arguments.upstream:
            figures = {"upstream": beside_upstream(arguments, work)}
        else:
            source = collect(arguments, work)
            figures = {"growth": grow(arguments, work, source), "two_threads": two_threads(arguments, work)}
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
