#!/usr/bin/env python3
"""Does a watch of many runs, traincheck-onlinecheck --watch, stay flat in memory while they come and go?

usage: runs.py [--bin DIR] [--runs N] [--json FILE]

Runs of some steps appear below a folder, a hundred at a time, and have ended when they appear; each hundredth is broken.
A line for each tenth: runs closed, memory and descriptors of the watch, seconds.
"""
import json
import pathlib
import signal
import subprocess
import sys
import time

import growth

for folder in ("relations", "online"):
    sys.path.insert(0, str(growth.ROOT / "tests" / folder))
from live import write_loop  # noqa: E402

BATCH = 100


def state_of(pid):
    """kB of memory, and open descriptors."""
    return growth.rss_kb(pid), len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def count_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def add_run(root, i, file):
    """Under another name first: it appears as a whole."""
    folder = root.parent / "new" / f"run{i}"
    folder.mkdir(parents=True)
    (folder / file.name).write_bytes(file.read_bytes())
    folder.rename(root / f"run{i}")


def run(options, work):
    for name, broken in (("healthy0", None), ("healthy1", None), ("broken", 3)):
        write_loop(work / name, broken_from=broken, argv=["a.py"])
    subprocess.run([options.bin / "traincheck-infer", "-q", "--specific", work / "healthy0", work / "healthy1", "-o", work / "i.jsonl"], check=True)
    healthy, broken = (next((work / name).iterdir()) for name in ("healthy0", "broken"))
    root, out = work / "runs", work / "out"
    root.mkdir()
    watch = subprocess.Popen([options.bin / "traincheck-onlinecheck", "-q", "--watch", root, "-i", work / "i.jsonl", "-o", out, "--no-html-report"],
                             stdout=subprocess.DEVNULL)
    rows, began = [], time.monotonic()
    for first in range(0, options.runs, BATCH):
        n = min(first + BATCH, options.runs)
        for i in range(first, n):
            add_run(root, i, broken if i % 100 == 99 else healthy)
        while count_lines(out / "runs.jsonl") < n and watch.poll() is None:
            time.sleep(0.2)
        if n * 10 // options.runs > len(rows):
            memory, descriptors = state_of(watch.pid)
            rows.append({"runs": n, "rss_kb": memory, "descriptors": descriptors, "seconds": time.monotonic() - began})
            print("{runs:6,} runs: {rss_kb:6,} kB, {descriptors} descriptors, after {seconds:.0f} s".format(**rows[-1]), flush=True)
    watch.send_signal(signal.SIGTERM)
    watch.wait()
    verdicts = [json.loads(line)["verdict"] for line in (out / "runs.jsonl").read_text().splitlines()]
    print(f"status {watch.returncode}; {verdicts.count('passed')} passed, {verdicts.count('failed')} failed")
    return rows


if __name__ == "__main__":
    growth.main(__doc__, run, "runs", 10_000)
