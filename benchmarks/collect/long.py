#!/usr/bin/env python3
"""A long run, followed by a live check: what grows that should not, and is anything lost?

  memory   of the traced process, and of the check that follows it: the last third against the
           second; a leak of one record a step would show
  size     of the trace: bytes a step in the last third against the second
  records  every call that the script counted stands in the trace, begun and ended

Exits with 1 where one of them is wrong. The script sleeps most of the time.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "python"))
from traced import frames  # noqa: E402

PROGRAM = HERE / "programs" / "long.py"
LEARN_SECONDS = 2
MAX_GROWTH_KB = 2048   # noise of the allocators
MAX_SIZE_RATIO = 1.5   # frames are written as they fill


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build" / "bin",
                        help="folder of the tools")
    parser.add_argument("--python", default=sys.executable, help="interpreter with torch")
    parser.add_argument("--seconds", type=float, default=600)
    arguments = parser.parse_args()
    arguments.bin = arguments.bin.resolve()
    return arguments


def environment(seconds, out):
    return {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **os.environ,
            "BENCH_SECONDS": str(seconds), "BENCH_OUT": str(out)}


def collect(arguments, work, folder):
    return [arguments.bin / "traincheck-collect", "-q", "--python", arguments.python, "-o", work / folder,
            PROGRAM]


def learn(arguments, work):
    subprocess.run(collect(arguments, work, "short"), cwd=work, check=True,
                   env=environment(LEARN_SECONDS, work / "short.json"))
    subprocess.run([arguments.bin / "traincheck-infer", "-q", "-o", work / "invariants.jsonl",
                    work / "short"], cwd=work, check=True)


def resident_kb(process):
    try:
        status = pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()
    except OSError:
        return None
    return int(status[1]) * os.sysconf("SC_PAGE_SIZE") // 1024 if len(status) > 1 else None


def watch(arguments, work):
    """Run and follow: ([(time, bytes of the trace)], [(time, memory of the check)], its status)"""
    sizes, memory = [], []
    trace = work / "long"
    job = subprocess.Popen(collect(arguments, work, "long"), cwd=work,
                           env=environment(arguments.seconds, work / "long.json"))
    while not list(trace.glob("trace_*")) and job.poll() is None:
        time.sleep(0.1)
    check = subprocess.Popen([arguments.bin / "traincheck-onlinecheck", trace, "-q", "-o", work / "report",
                              "-i", work / "invariants.jsonl", "--no-html-report"], cwd=work)
    while job.poll() is None:
        sizes.append((time.monotonic(), sum(f.stat().st_size for f in trace.glob("trace_*"))))
        if (kb := resident_kb(check)) is not None:
            memory.append((time.monotonic(), kb))
        time.sleep(0.25)
    if job.returncode:
        raise SystemExit(f"the job ended with {job.returncode}")
    return sizes, memory, check.wait(timeout=120)


def growth_kb(samples):
    """Between the medians of the second and the last third: (time, kilobytes)"""
    third = len(samples) // 3
    second, last = samples[third:2 * third], samples[2 * third:]
    return statistics.median(kb for _, kb in last) - statistics.median(kb for _, kb in second)


def value_at(samples, at):
    """Of what grows, the value of the sample that is nearest in time."""
    return min(samples, key=lambda sample: abs(sample[0] - at))[1]


def size_ratio(sizes, samples):
    """Bytes a step in the last third of the steps against the second third."""
    n_steps = samples[-1][1]
    marks = [next((at, n) for at, n, _ in samples if n >= part * n_steps) for part in (1 / 3, 2 / 3)]
    marks.append(samples[-1][:2])
    rates = [(value_at(sizes, later) - value_at(sizes, at)) / (n_later - n)
             for (at, n), (later, n_later) in zip(marks, marks[1:])]
    return rates[1] / rates[0]


def count_records(work):
    """(calls of relu, how many of them ended, what the trace says was lost)"""
    begun, ended, losses = set(), 0, []
    for file in (work / "long").glob("trace_*"):
        for line in (line for frame in frames(file) for line in frame.decode().splitlines()):
            if '"torch.nn.functional.relu"' in line and line.startswith('{"type":"call"'):
                begun.add(json.loads(line)["id"])
            elif line.startswith('{"type":"return"'):
                ended += json.loads(line)["id"] in begun
            elif line.startswith('{"type":"note"') and '"code":"switched-off"' in line:
                losses.append(line)
            elif line.startswith('{"type":"end"') and json.loads(line)["dropped"]:
                losses.append(line)
    return len(begun), ended, losses


def judge(arguments, work):
    sizes, memory, status = watch(arguments, work)
    told = json.loads((work / "long.json").read_text())
    job_growth = growth_kb([(at, kb) for at, _, kb in told["samples"]])
    check_growth = growth_kb(memory)
    ratio = size_ratio(sizes, told["samples"])
    begun, ended, losses = count_records(work)
    yield (f"{told['relu']} steps: {begun} calls of relu in the trace, {ended} ended, losses: {losses or 'none'}",
           begun == ended == told["relu"] and not losses)
    yield f"memory of the job: {job_growth:+.0f} KiB", job_growth < MAX_GROWTH_KB
    yield f"memory of the live check: {check_growth:+.0f} KiB", check_growth < MAX_GROWTH_KB
    yield (f"trace: {sizes[-1][1] / told['relu']:.0f} bytes a step, last third : second = {ratio:.3f}",
           1 / MAX_SIZE_RATIO < ratio < MAX_SIZE_RATIO)
    yield f"live check: exit {status}", status == 0


def main():
    arguments = parse()
    failed = False
    with tempfile.TemporaryDirectory(prefix="tc-long-") as folder:
        work = pathlib.Path(folder)
        learn(arguments, work)
        for said, good in judge(arguments, work):
            print(said if good else f"WRONG: {said}", flush=True)
            failed = failed or not good
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
