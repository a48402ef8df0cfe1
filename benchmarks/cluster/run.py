#!/usr/bin/env python3
"""How much faster do workers learn and check?

usage: run.py [--traces N] [--steps N] [--workers N...] [--runs N] [--engine processes|dask]... [--json FILE]

Traces that a loop writes by hand, all of one length. A line for each number of workers: traces and MB of trace a second,
the best of the runs, which take turns, and how often as fast as one machine without an executor, on one thread, that is. What it took to
start the workers is not in it. Run with PYTHONPATH=python and TRAINCHECK_LIBRARY of the build; dask asks for its packages.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("relations", "online")]
import libtraincheck  # noqa: E402
from live import write_loop  # noqa: E402


@contextlib.contextmanager
def processes(n):
    with concurrent.futures.ProcessPoolExecutor(n) as executor:
        concurrent.futures.wait([executor.submit(time.sleep, 0.3) for _ in range(2 * n)])  # all are up
        yield executor


@contextlib.contextmanager
def dask(n):
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.wait_for_workers(n)
        client.run(__import__, "libtraincheck")
        yield client.get_executor()


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measure(work, options):
    """By engine and workers, the least of the runs. They take turns: what others do on the machine falls on all of them."""
    with contextlib.ExitStack() as stack:
        ways = {("none", 1): {"jobs": 1}}
        for engine in options.engine or ["processes"]:
            for n in options.workers:
                ways[engine, n] = {"executor": stack.enter_context({"processes": processes, "dask": dask}[engine](n))}
        times = {way: [] for way in ways}
        for _ in range(options.runs):
            for way, how in ways.items():
                times[way].append(seconds(lambda how=how: work(**how)))
    return {way: min(taken) for way, taken in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--traces", type=int, default=64)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engine", action="append", choices=("processes", "dask"))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        traces = [f"t{i}" for i in range(options.traces)]
        for i, trace in enumerate(traces):
            write_loop(pathlib.Path(trace), steps=options.steps)
        megabytes = sum(path.stat().st_size for path in pathlib.Path().glob("t*/*")) / 1e6
        works = {"learn": lambda **how: libtraincheck.infer(traces, "i.jsonl", **how),
                 "check": lambda **how: [libtraincheck.check(trace, "i.jsonl", **how) for trace in traces] if "jobs" in how
                 else libtraincheck.check(traces, "i.jsonl", **how)}
        print(f"{len(traces)} traces of {megabytes / len(traces):.1f} MB")
        for what, work in works.items():
            taken = measure(work, options)
            for (engine, workers), s in taken.items():
                rows.append({"what": what, "engine": engine, "workers": workers, "s": s, "traces_per_s": len(traces) / s,
                             "mb_per_s": megabytes / s, "ratio": taken["none", 1] / s})
                print("{what:6} {engine:10} {workers} workers: {traces_per_s:7.1f} traces/s {mb_per_s:7.1f} MB/s  {ratio:5.2f}x"
                      .format(**rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
