#!/usr/bin/env python3
"""What inference costs: seconds, events, bytes and memory, and how they grow with the trace.

usage: run.py [--bin DIR] [--trace DIR] [--python PYTHON] [--events N] [--growth 1 10 100] [--runs N] [--upstream BIN] [--json FILE]

A real trace (by default one collected of examples/digits) is repeated, window by window, to N, 10 N and 100 N
records, and learned from; then two copies of the middle one, by one thread and by two. Prints one line each:
  events/s     records by seconds of processor time: neighbours on the machine disturb them little
  MB/s         of JSON, by the same; the files are compressed
  memory       the peak
and the exponent of growth, log of the time over log of the length, and how much sooner two threads are done on the
clock, in pairs that take turns. With --upstream, bin/ of a virtual environment with torch and traincheck 0.2.0,
also the Python tool (-j 2) on its own trace of the same script, which is given up after --limit seconds.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import repeat

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE.parents[1] / "examples" / "digits" / "train.py"
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
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


class Run:
    """One run of a command: its seconds on the clock, its stderr, and whether it was given up."""

    def __init__(self, command, limit=3600, cwd=None):
        begin = time.monotonic()
        path = f"{pathlib.Path(command[0]).parent}:{os.environ['PATH']}"  # the Python tool starts "python"
        process = subprocess.Popen([str(word) for word in command], env=dict(ENVIRONMENT, PATH=path), cwd=cwd, text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, process_group=0)
        self.is_over_limit = False
        try:
            _, self.stderr = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.is_over_limit = True
            os.killpg(process.pid, 9)
            _, self.stderr = process.communicate()
        self.wall = time.monotonic() - begin
        if process.returncode and not self.is_over_limit:
            sys.exit(f"{' '.join(map(str, command))}: exit status {process.returncode}\n{self.stderr}")


def peak_of(pid):
    """MiB that the process has used at most, or 0. (ru_maxrss would count this interpreter's, which it began as.)"""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    except OSError:
        found = None
    return int(found[1]) / 1024 if found else 0


def measure(command):
    """As Run, with processor time and memory, of which only the parent that waits is told."""
    begin, peak, done = time.monotonic(), 0, 0
    with tempfile.TemporaryFile("w+") as err:
        pid = os.posix_spawn(command[0], [str(word) for word in command], ENVIRONMENT,
                             file_actions=[(os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
        while not done:
            peak = max(peak, peak_of(pid))
            time.sleep(0.005)
            done, status, usage = os.wait4(pid, os.WNOHANG)
        wall = time.monotonic() - begin
        err.seek(0)
        text = err.read()
    if status:
        sys.exit(f"{' '.join(map(str, command))}: {text}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "mib": peak, "stderr": text}


def learn(arguments, work, traces, jobs):
    return measure([arguments.bin / "traincheck-infer", "-j", jobs, "-o", work / "invariants.jsonl", *traces])


def collect(arguments, work):
    if arguments.trace:
        return arguments.trace
    Run([arguments.bin / "traincheck-collect", "--python", arguments.python, "-o", work / "digits", SCRIPT])
    return work / "digits"


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


def beside_upstream(arguments, work, source):
    """Both tools on what each recorded of the same script."""
    ours = statistics.median(learn(arguments, work, [source], 1)["wall"] for _ in range(arguments.runs))
    script = work / SCRIPT.name  # the tool writes beside it, and its docstring is lost on the way
    script.write_text(f"__doc__ = ' x'\n{SCRIPT.read_text()}")
    Run([arguments.upstream / "traincheck-collect", "--pyscript", script, "--models-to-track", "model",
         "--output-dir", work / "upstream"], cwd=work)
    records = sum(sum(1 for _ in open(f, "rb")) for f in (work / "upstream").glob("**/trace*"))
    run = Run([arguments.upstream / "traincheck-infer", "-f", work / "upstream", "-j", "2",
               "-o", work / "upstream.jsonl"], limit=arguments.limit, cwd=work)
    more = "more than " if run.is_over_limit else ""
    print(f"the Python tool, -j 2: {more}{run.wall:.1f} s on {records:,} records; ours {ours:.3f} s: "
          f"{more}{run.wall / ours:.0f} times as fast")
    return {"records": records, "wall_s": run.wall, "is_over_limit": run.is_over_limit, "ours_wall_s": ours}


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        source = collect(arguments, work)
        figures = {"growth": grow(arguments, work, source), "two_threads": two_threads(arguments, work)}
        if arguments.upstream:
            figures["upstream"] = beside_upstream(arguments, work, source)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
