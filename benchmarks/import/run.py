#!/usr/bin/env python3
"""Time and memory of our tools beside the Python TrainCheck, on traces and invariants of the latter.

usage: run.py [--bin build/bin] [--peer VENV/bin] [--traces FOLDER] [--rounds N] [--infer]

FOLDER holds a folder for each trace: `trace/`, and for a check `invariants_*.json`; a trace without any is
checked by those of all others. Both tools run one after the other, N times; the table has the median of
each and the ratio. Memory is the peak; less than the 15 MiB of the process that starts the tools is not
told. --infer lets the Python tool
infer, too, which takes minutes and gigabytes.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT_S = 540


def measure(command, cwd):
    """(seconds, MiB, last line of stderr); seconds None past the limit. The child is waited for by itself,
    so that its own peak is told."""
    start = time.monotonic()
    with (pathlib.Path(cwd) / "stderr").open("w+") as err:
        child = subprocess.Popen([str(c) for c in command], cwd=cwd, stdout=subprocess.DEVNULL, stderr=err)
        while True:
            pid, _, usage = os.wait4(child.pid, os.WNOHANG)
            seconds = time.monotonic() - start
            if pid:
                break
            if seconds > LIMIT_S:
                child.kill()
                _, _, usage = os.wait4(child.pid, 0)
                seconds = None
                break
            time.sleep(0.001)
        child.returncode = 0  # it was waited for
        err.seek(0)
        lines = err.read().strip().splitlines()
    return seconds, usage.ru_maxrss / 1024, lines[-1] if lines else ""


def median(command, rounds):
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as scratch:
            found.append(measure(command, scratch))
        if found[-1][0] is None:
            return None, found[-1][1]
    return statistics.median(f[0] for f in found), max(f[1] for f in found)


def cell(seconds):
    return f"> {LIMIT_S} s" if seconds is None else f"{seconds:.2f} s"


def row(name, ours, theirs, rounds):
    seconds, memory = median(ours, rounds)
    text = f"| {name} | {cell(seconds)} | {memory:.0f} MiB |"
    if theirs:
        peer, peer_memory = median(theirs, rounds)
        ratio = f"{'> ' if peer is None else ''}{(LIMIT_S if peer is None else peer) / seconds:.0f}x"
        text += f" {cell(peer)} | {peer_memory:.0f} MiB | {ratio} |"
    else:
        text += " | | |"
    print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--peer", type=pathlib.Path, help="bin folder of a venv with traincheck 0.2.0")
    parser.add_argument("--traces", type=pathlib.Path, default=ROOT / "../shared/upstream/traces")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--infer", action="store_true")
    options = parser.parse_args()
    bin, peer = options.bin.resolve(), options.peer and pathlib.Path(os.path.abspath(options.peer))
    folders = sorted(f for f in options.traces.resolve().iterdir() if (f / "trace").is_dir())
    if not folders:
        sys.exit(f"{options.traces}: no folder with a trace")
    print("| | ours | memory | Python tool | memory | ratio |\n|---|---|---|---|---|---|")
    known = sorted(i for folder in folders for i in folder.glob("invariants_*.json"))
    for folder in folders:
        trace, invariants = folder / "trace", sorted(folder.glob("invariants_*.json")) or known
        if invariants:
            row(f"check {folder.name}", [bin / "traincheck-check", trace, "-i", *invariants, "-o", "out"],
                peer and [peer / "traincheck-check", "-f", trace, "-i", *invariants, "-o", "out"], options.rounds)
        row(f"infer {folder.name}", [bin / "traincheck-infer", trace, "-o", "out.jsonl"],
            peer and options.infer and [peer / "traincheck-infer", "-f", trace, "-o", "out.json"], options.rounds)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
