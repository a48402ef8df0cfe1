#!/usr/bin/env python3
"""What checking costs: speed, many invariants, delay of a live check, memory.

usage: run.py [--bin BUILD/bin] [--only offline many delay memory upstream] [--runs N] [--work DIR] [--json FILE]
              [--upstream BIN --trace DIR --invariants FILE] [--facts DIR DIR]

  offline   events a second on one core; an event is a record of the trace
  many      time of 10,000 invariants beside 100, in pairs
  delay     from the write of the frame that breaks an invariant to the line on stdout, at 1 and 8 ranks, while
            200,000 events a second arrive in all
  memory    largest resident size over runs of 1x, 10x and 100x length, finished and followed
  facts     with --facts, two traces of one script: records a second of the first by its facts, all and a tenth, and by none,
            in turn; and how much longer they take than none
  upstream  with --upstream: the Python tool (traincheck 0.2.0) on a trace and invariants of its own, and ours on the same
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import traces

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RATE = 200_000  # events a second in the measurement of delay
STEPS = {"1x": 40, "10x": 400, "100x": 4000}


class Peak(threading.Thread):
    """The largest resident size of a process. ru_maxrss would be ours, as it survives exec."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path, self.mb = pathlib.Path(f"/proc/{pid}/status"), 0.0
        self.start()

    def run(self):
        while True:
            try:
                lines = [line for line in self.path.read_text().splitlines() if line.startswith("VmHWM")]
            except OSError:
                return
            if not lines:
                return
            self.mb = int(lines[0].split()[1]) / 1024
            time.sleep(0.01)


class Bench:
    def __init__(self, options):
        self.bin, self.runs, self.work = options.bin, options.runs, options.work
        self.options, self.results = options, {}

    def tool(self, name):
        return str(self.bin / f"traincheck-{name}")

    def timed(self, *args, cpu=0):
        """Run on one core; (wall, processor seconds, peak MB, exit status)."""
        begin = time.monotonic()
        process = subprocess.Popen([str(a) for a in args], cwd=self.work, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        peak, error = Peak(process.pid), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            raise SystemExit(f"{args[0]}: exit status {process.returncode}\n{error.decode()}")
        return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, peak.mb, process.returncode

    def check(self, trace, invariants, tool="check", *more):
        shutil.rmtree(self.work / "report", ignore_errors=True)
        return self.timed(self.tool(tool), "-q", trace, "-i", invariants, "-o", "report", *more)

    def trace(self, length, world=1):
        """A run of that length and its number of events; made once."""
        folder = self.work / f"run-{length}-{world}"
        count = folder.with_suffix(".count")
        if not count.exists():
            shutil.rmtree(folder, ignore_errors=True)
            count.write_text(str(traces.write(folder, STEPS[length], world)))
        return folder.name, int(count.read_text())

    def invariants(self, world=1):
        """Learned from two short runs."""
        path = self.work / f"invariants-{world}.jsonl"
        if not path.exists():
            names = [f"learn-{world}-{i}" for i in range(2)]
            for name in names:
                shutil.rmtree(self.work / name, ignore_errors=True)
                traces.write(self.work / name, 24, world)
            self.timed(self.tool("infer"), "-q", "-o", path, *names)
        return path

    def show(self, what, **figures):
        self.results[what] = figures
        print(f"{what:34}" + "   ".join(f"{k} {v:,.3g}" if isinstance(v, float) and v < 1000 else f"{k} {v:,.0f}"
                                      for k, v in figures.items()), flush=True)

    # ---- the measurements

    def offline(self):
        name, events = self.trace("100x")
        runs = [self.check(name, self.invariants()) for _ in range(self.runs)]
        self.show("offline, 1 core", events=events, seconds=statistics.median(r[0] for r in runs),
                  processor_s=statistics.median(r[1] for r in runs),
                  events_per_s=events / statistics.median(r[1] for r in runs))

    def many(self):
        name, _ = self.trace("100x")
        sets = {}
        for n in (100, 10_000):
            sets[n] = self.work / f"many-{n}.jsonl"
            sets[n].write_text(traces.more_invariants(self.invariants(), n))
        ratios = []
        for _ in range(self.runs):
            few, many = (self.check(name, sets[n])[1] for n in (100, 10_000))
            ratios.append(many / few)
        self.show("10,000 invariants / 100", median=statistics.median(ratios), least=min(ratios), most=max(ratios))

    def memory(self):
        for world in (1, 8):
            for tool, more in (("check", ()), ("onlinecheck", ("--exit-on-idle", 1))):
                sizes = {length: self.check(self.trace(length, world)[0], self.invariants(world), tool, *more)[2]
                         for length in STEPS}
                self.show(f"peak MB, {tool}, {world} rank{'s' * (world > 1)}", **{f"at_{k}": v for k, v in sizes.items()})

    def delay(self):
        for world in (1, 8):
            late = sorted(self.one_delay(world) for _ in range(self.runs))
            self.show(f"delay s, {world} rank{'s' * (world > 1)}, {RATE:,} events/s", median=statistics.median(late),
                      most=late[-1])

    def one_delay(self, world, seconds=4):
        """A frame of each rank in turn at the rate; two thirds through one breaks, and the stream goes on."""
        steps = seconds * RATE // world // 440
        firsts, rest, _ = traces.frames(steps, world)
        bad = len(rest) * 2 // 3
        firsts_and_rest = [[first, *rest] for first in firsts]
        loop = traces.Loop(world - 1, world)
        loop.step, loop.calls, loop.t = 8 * (bad + 1), 10**7, 10**10
        text = "".join(loop.one_step(breaks=world == 1, drifts=world > 1) for _ in range(8))
        firsts_and_rest[-1][bad + 1] = traces.zstd_frame(text.encode()), text.count("\n")
        return self.stream(firsts_and_rest, bad + 1, world)

    def stream(self, ranks, bad, world):
        for name in ("live", "report"):
            shutil.rmtree(self.work / name, ignore_errors=True)
        (self.work / "live").mkdir()
        checker = subprocess.Popen([self.tool("onlinecheck"), "-q", "--json", "live", "-i", str(self.invariants(world)),
                                    "-o", "report"], cwd=self.work, stdout=subprocess.PIPE)
        seen = []
        reader = threading.Thread(target=lambda: seen.extend((time.monotonic(), line) for line in checker.stdout))
        reader.start()
        files = [open(self.work / "live" / traces.Loop(r, world).name(), "wb", buffering=0) for r in range(world)]
        begin, events, flushed = time.monotonic(), 0, 0.0
        for k in range(max(map(len, ranks))):
            for rank, frames in enumerate(ranks):
                data, n = frames[k]
                time.sleep(max(0.0, begin + events / RATE - time.monotonic()))
                files[rank].write(data)
                events += n
                if k == bad:
                    flushed = time.monotonic()
        rate = events / (time.monotonic() - begin)
        if rate < 0.9 * RATE:
            print(f"  only {rate:,.0f} events/s were written", file=sys.stderr)
        if checker.wait(timeout=120) != 1:
            raise SystemExit("the live check did not find what was broken")
        reader.join()
        return seen[0][0] - flushed

    def facts(self):
        if not self.options.facts:
            return
        learned = self.work / "facts.jsonl"
        self.timed(self.tool("infer"), "-q", "--specific", "-o", learned, *self.options.facts)
        header, *rows = learned.read_text().splitlines(keepends=True)
        rows = [row for row in rows if '"attribute"' in row]
        sets = {len(part): self.work / f"facts-{len(part)}.jsonl" for part in ([], rows[::10], rows)}
        for part in ([], rows[::10], rows):
            sets[len(part)].write_text(header + "".join(part))
        with open(self.work / "records", "wb") as out:
            subprocess.run(["zstd", "-dcq", *sorted(self.options.facts[0].glob("*.zst"))], check=True, stdout=out)
        records = sum(1 for _ in open(self.work / "records", "rb"))
        rounds = [{n: self.check(self.options.facts[0], path)[1] for n, path in sets.items()} for _ in range(self.runs)]
        for n in sets:
            self.show(f"{n} facts", records=records, records_per_s=records / statistics.median(r[n] for r in rounds),
                      ratio=statistics.median(r[n] / r[0] for r in rounds))

    def upstream(self):
        o = self.options
        if not (o.upstream and o.trace and o.invariants):
            print("upstream: left out; it needs --upstream, --trace and --invariants", file=sys.stderr)
            return
        ours = [self.check(o.trace, o.invariants)[0] for _ in range(self.runs)]
        theirs = self.timed(o.upstream / "traincheck-check", "-f", o.trace, "-i", o.invariants)[0]
        self.show("its own trace, s", python_tool=theirs, ours=statistics.median(ours),
                  times_faster=theirs / statistics.median(ours))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--only", nargs="*", default=["offline", "many", "delay", "memory", "facts", "upstream"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--upstream", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--facts", nargs=2, metavar="DIR", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--trace", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--invariants", type=lambda p: pathlib.Path(p).resolve())
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        options.work = (options.work or pathlib.Path(scratch)).resolve()
        options.work.mkdir(parents=True, exist_ok=True)
        bench = Bench(options)
        for name in options.only:
            getattr(bench, name)()
    if options.json:
        options.json.write_text(json.dumps(bench.results, indent=1) + "\n")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
