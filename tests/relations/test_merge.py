#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Evidence merges: however traces are split, ordered, grouped and packed, the same bytes come out.

usage: test_merge.py --bin BUILD/bin [--seed N] [--rounds N]
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import random_trace
from trace_writer import zstd_frame

BIN = None


def infer(work, *args):
    p = subprocess.run([str(BIN / "traincheck-infer"), "-q", "--specific", "--no-excerpts", *map(str, args)], cwd=work, capture_output=True,
                       timeout=120)
    if p.returncode:
        raise SystemExit(f"traincheck-infer {' '.join(map(str, args))}: exit status {p.returncode}\n{p.stderr.decode()}")


def learn(work, name, *args):
    infer(work, "-o", name, "--failed", f"{name}.failed", *args)
    return (work / name).read_bytes(), (work / f"{name}.failed").read_bytes()


def save(work, name, *args):
    infer(work, "--evidence", name, *args)
    return (work / name).read_bytes()


def expect_equal(what, got, want):
    if got != want:
        print(f"seed {SEED}: {what} gives other bytes")
        sys.exit(1)


def random_groups(rng, items):
    """The items in a random order, cut into groups at random places."""
    items = rng.sample(items, len(items))
    cuts = sorted(rng.sample(range(1, len(items)), rng.randint(0, len(items) - 1)))
    return [items[a:b] for a, b in zip([0, *cuts], [*cuts, len(items)])]


def any_jobs_and_order(rng, work, runs, want):
    for jobs in range(1, 9):
        order = rng.sample(runs, len(runs))
        expect_equal(f"-j {jobs} {' '.join(order)}", learn(work, "again", "-j", jobs, *order), want)


def merge_tree(rng, work, runs):
    """Evidence of groups, merged in groups, merged ... in a random tree; the name of the last file."""
    files = list(runs)
    for level in range(3):
        groups = random_groups(rng, files) if level < 2 else [files]
        files = []
        for i, group in enumerate(groups):
            name = f"part-{level}-{i}.tce"
            save(work, name, "-j", rng.randint(1, 8), *group)
            files.append(name)
    return files[0]


def any_split(rng, work, runs, want):
    whole = save(work, "whole.tce", *runs)
    expect_equal("saved evidence", learn(work, "again", "whole.tce"), want)
    expect_equal("evidence saved again", save(work, "twice.tce", "whole.tce"), whole)
    for _ in range(3):
        merged = merge_tree(rng, work, runs)
        expect_equal("merged evidence", (work / merged).read_bytes(), whole)
        expect_equal("merged evidence, learned from,", learn(work, "again", merged), want)
        mixed = [x for i, group in enumerate(random_groups(rng, runs))
                 for x in (group if i % 2 else [save(work, f"m{i}.tce", *group) and f"m{i}.tce"])]
        expect_equal("evidence beside traces", learn(work, "again", *rng.sample(mixed, len(mixed))), want)


def any_packing(rng, work, runs, want):
    """The same lines in other frames, in files that came in another order."""
    for run in runs:
        for file in sorted((work / run).iterdir(), key=lambda _: rng.random()):
            lines = file.read_bytes().splitlines(keepends=True)
            file.unlink()
            with open(f"{file}.zst", "wb") as packed:
                while lines:
                    n = rng.randint(1, 40)
                    packed.write(zstd_frame(b"".join(lines[:n])))
                    lines = lines[n:]
    expect_equal("packed in frames", learn(work, "again", *runs), want)


def check_round(rng, work):
    runs = [f"run{i}" for i in range(rng.randint(2, 9))]
    for run in runs:
        random_trace.write(rng, work / run)
    want = learn(work, "want", *runs)
    any_jobs_and_order(rng, work, runs, want)
    any_split(rng, work, runs, want)
    any_packing(rng, work, runs, want)
    return want[0].count(b"\n") - 1


def main():
    global BIN, SEED
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    BIN, SEED = args.bin.resolve(), args.seed
    rng = random.Random(SEED)
    learned = 0
    for _ in range(args.rounds):
        work = pathlib.Path(tempfile.mkdtemp())
        try:
            learned += check_round(rng, work)
        finally:
            shutil.rmtree(work)
    print(f"seed {SEED}: {args.rounds} rounds, {learned} invariants, equal bytes")
    sys.exit(learned == 0)


if __name__ == "__main__":
    main()
