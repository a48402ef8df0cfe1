#!/usr/bin/env python3
"""Does a live check of 10^7 steps that deletes what it has checked stay flat, in memory and on disk?

usage: steps.py [--bin DIR] [--steps N] [--json FILE]

A writer appends frames of 2,000 steps, some ten records each, and one step in the midst in which no weight changes. It waits
where the check is more than 256 MiB behind. A line for each tenth: steps, bytes of the file, of disk, memory of the check.
"""
import itertools
import json
import pathlib
import subprocess
import sys
import time

import growth

sys.path.insert(0, str(growth.ROOT / "tests" / "relations"))
from trace_writer import Trace  # noqa: E402

FRAME_STEPS = 2000
MAX_BEHIND = 256 << 20  # bytes of disk


def write_pattern(folder, steps, broken=None):
    """A loop; from it what stands before the steps, one step with places for what changes, and what stands behind."""
    trace = Trace(folder)
    net = trace.net("w")
    optimizer = trace.optimizer(net)
    for step in range(steps):
        trace.zero_grad(optimizer), trace.forward(net), trace.backward(net)
        trace.step(optimizer, changes=[] if step == broken else None)
        trace.cut()
    trace.end()
    return [json.loads(line) for line in next(folder.iterdir()).read_text().splitlines()]


def split(records):
    """Those of the windows, by the step that they close."""
    windows, window = [], []
    for record in records:
        window.append(record)
        if record["type"] == "step":
            windows.append(window)
            window = []
    return windows, window


def compile_window(window):
    """As a function of a range of numbers: the text of the windows that come so many later; ids, times, steps and contents go on."""
    first = {key: min((r[key] for r in window if key in r), default=0) for key in ("id", "t")}
    span = {"id": sum(r["type"] == "call" for r in window), "t": max(r["t"] for r in window if "t" in r) - first["t"] + 1}
    place = {"id": "id", "parent": "id", "cause": "id", "t": "t"}
    lines, values = [], []  # of each place: (at n = 0, more for each n); None: a content
    for record in window:
        shown = dict(record)
        for key in record:
            if key in place:
                values.append((record[key], span[place[key]]))
            elif key == "step":
                values.append((record[key], 1))
            elif key == "attrs" and "data" in record[key]:
                shown[key] = {**record[key], "data": "@"}
                values.append(None)
                continue
            else:
                continue
            shown[key] = "#"
        text = json.dumps(shown, separators=(",", ":")).replace("%", "%%")
        lines.append(text.replace('"#"', "%d").replace('"@"', '"%016x"') + "\n")
    form = "".join(lines)

    def make(numbers):
        contents = [(n * 2654435761) % 2**61 + 1 for n in numbers]
        columns = [contents if value is None else range(value[0] + numbers[0] * value[1], value[0] + (numbers[-1] + 1) * value[1], value[1])
                   for value in values]
        return form * len(numbers) % tuple(itertools.chain.from_iterable(zip(*columns)))

    return make


def run(options, work):
    healthy = write_pattern(work / "healthy", 8)
    write_pattern(work / "healthy2", 8)
    subprocess.run([options.bin / "traincheck-infer", "-q", work / "healthy", work / "healthy2", "-o", work / "i.jsonl"], check=True)
    windows, tail = split(healthy)
    head, body = windows[:3], compile_window(windows[3])
    broken = split(write_pattern(work / "broken", 8, broken=3))[0][3]
    broken_body = compile_window(broken)
    folder = work / "trace"
    folder.mkdir()
    path = folder / "trace_host_r-_p100.jsonl.zst"
    path.touch()
    checker = subprocess.Popen([options.bin / "traincheck-onlinecheck", folder, "-q", "-i", work / "i.jsonl", "-o", work / "report", "--no-html-report",
                                "--delete-checked", "--report-interval", "0", "--exit-on-idle", "60"], stdout=subprocess.PIPE, text=True)
    rows, began = [], time.monotonic()
    with path.open("ab", buffering=0) as file:
        file.write(pack("".join(json.dumps(r) + "\n" for w in head for r in w)))
        for first in range(0, options.steps, FRAME_STEPS):
            n = min(FRAME_STEPS, options.steps - first)
            middle = options.steps // 2
            parts = (range(first, first + n),)
            if middle in parts[0]:
                parts = range(first, middle), range(middle, middle + 1), range(middle + 1, first + n)
            file.write(pack("".join((broken_body if part[0] == middle else body)(part) for part in parts if part)))
            while path.stat().st_blocks * 512 > MAX_BEHIND and checker.poll() is None:
                time.sleep(0.2)
            if (first + n) * 10 // options.steps > len(rows):
                time.sleep(6)  # for a deletion
                rows.append({"steps": first + n, "file_mb": path.stat().st_size / 1e6, "disk_mb": path.stat().st_blocks * 512 / 1e6,
                             "rss_kb": growth.rss_kb(checker.pid), "seconds": time.monotonic() - began})
                print("{steps:10,} steps: file {file_mb:8.1f} MB, disk {disk_mb:6.1f} MB, check {rss_kb:7,} kB, after {seconds:.0f} s".format(**rows[-1]), flush=True)
        last = {"type": "end", "t": 10**15, "events": 0, "dropped": 0, "exit": 0}
        file.write(pack(json.dumps(last) + "\n"))
    said, _ = checker.communicate()
    print(f"status {checker.returncode}; {said.splitlines()[0] if said else 'nothing was found'}; disk {path.stat().st_blocks * 512 / 1e6:.1f} MB")
    return rows


def pack(text):
    return subprocess.run(["zstd", "-q", "-1"], input=text.encode(), check=True, capture_output=True).stdout


if __name__ == "__main__":
    growth.main(__doc__, run, "steps", 10_000_000)
