#!/usr/bin/env python3
"""How much memory does a live check take for each rank, and how far is it behind?

usage: run.py [--bin DIR] [--ranks N...] [--steps N] [--json FILE]

A writer appends a frame to the file of every rank each second: a step of 12 parameters, some 40 records. A line for each
number of ranks: peak memory and what each rank adds to that of 4, how many steps of those written a second ago the reports,
one each second, did not have at most, the time from the last frame to the end of the check without the second it waits, its processor time, and that for each second of the job.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "relations"))
from trace_writer import Trace, zstd_frame  # noqa: E402

GRACE_S = 1  # that a check waits after the end of the last process


def write_rank(folder, steps):
    """Of rank 0 of the world; where each step of its file ends."""
    t = Trace(folder, rank=0, world=2, pid=100, file="rank0.jsonl")
    model = t.model("model", {f"layer{i}.weight": {} for i in range(12)})
    optimizer = t.optimizer(model)
    for _ in range(steps):
        t.zero_grad(optimizer), t.forward(model), t.backward(model), t.step(optimizer), t.cut("zero_grad")
    t.end()
    return (folder / "rank0.jsonl").read_text()


def frames(text, rank, world):
    """Its bytes as another rank's, a frame for each step."""
    head, *lines = text.splitlines(keepends=True)
    head = json.dumps({**json.loads(head), "rank": rank, "world_size": world, "pid": 100 + rank}) + "\n"
    parts, part = [], [head]
    for line in lines:
        part.append(line)
        if '"type": "step"' in line or '"type":"step"' in line:
            parts.append("".join(part))
            part = []
    parts[-1] += "".join(part)
    return [zstd_frame(part.encode()) for part in parts]


def last_step(metrics):
    """That the check has told of, a second ago at most; -1 before the first."""
    lines = metrics.read_text().splitlines() if metrics.exists() else []
    return max([int(line.split()[-1]) for line in lines if line.startswith("traincheck_step{")], default=-1)


def follow(options, work, text, ranks):
    folder = work / f"trace{ranks}"
    folder.mkdir()
    metrics = work / "metrics.prom"
    metrics.unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["/usr/bin/time", "-f", "%M", options.bin / "traincheck-onlinecheck", folder, "-q", "-i", work / "i.jsonl", "-o", work / "report",
               "--overwrite", "--no-html-report", "--report-interval", "1", "--metrics", metrics]
    checker = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    most, slowest, own = 0, 0.0, frames(text, 0, ranks)
    heads = [frames(text, rank, ranks)[0] for rank in range(ranks)]
    files = [os.open(folder / f"trace_host_r{rank}_p{100 + rank}.jsonl.zst", os.O_WRONLY | os.O_CREAT | os.O_APPEND) for rank in range(ranks)]
    started = time.monotonic()
    for step in range(len(own)):
        begin = time.monotonic()
        for rank, file in enumerate(files):
            os.write(file, own[step] if step else heads[rank])
        slowest = max(slowest, time.monotonic() - begin)
        most = max(most, step - 1 - last_step(metrics))
        time.sleep(max(0, 1 - (time.monotonic() - begin)))
    last = time.monotonic()
    for file in files:
        os.close(file)
    _, said = checker.communicate()
    behind = time.monotonic() - last - GRACE_S + 1  # the last frame was written a second before
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"ranks": ranks, "peak_kb": int(said.split()[-1]), "lag_steps": most, "write_s": slowest, "end_s": max(0, behind),
            "cpu_s": cpu, "cores": cpu / (last - started)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--ranks", type=int, nargs="+", default=[4, 64, 256, 1024, 4096, 16384])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch)
        text = write_rank(work / "one", options.steps)
        (work / "one" / "rank0.jsonl").rename(work / "one" / "trace_host_r0_p100.jsonl")
        subprocess.run([options.bin / "traincheck-infer", "-q", work / "one", "-o", work / "i.jsonl"], check=True)
        for ranks in options.ranks:
            row = follow(options, work, text, ranks)
            rows.append(row)
            row["kb_per_rank"] = (row["peak_kb"] - rows[0]["peak_kb"]) / max(1, ranks - rows[0]["ranks"])
            print("{ranks:6} ranks: {peak_kb:8} kB, {kb_per_rank:6.1f} kB a rank, {lag_steps} steps behind, end {end_s:.2f} s, {cpu_s:.1f} s of a processor, {cores:.2f} of one while the job goes on; writing a step took up to {write_s:.2f} s"
                  .format(**row), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
