#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What infer finds in small random traces is what brute force finds that follows the definitions.

usage: test_oracle.py --bin BUILD/bin [--seed N] [--rounds N]
"""

import argparse
import collections
import pathlib
import random
import subprocess
import sys
import tempfile

import invariant_file
import oracle
import random_trace


EVERY_FORM = 1  # a seed whose traces teach every form in so many rounds
MAX_ROUNDS = 60


def infer(tool, folders, output, is_one_script):
    options = ["--specific"] if is_one_script else []
    subprocess.run([str(tool), "-q", *options, "--keep-implied", "--enable-relation", ",".join(oracle.FORMS), "-o", str(output),
                    *map(str, folders)], check=True, timeout=120)
    found = {}
    for x in invariant_file.read(output):
        if "relation" not in x:  # the header, excerpts
            continue
        e = x["evidence"]
        if e.get("broken"):
            raise SystemExit(f"broken where it was learned: {x}")
        found[x["relation"], oracle.text(x["params"]), oracle.text(x["when"])] = (e["held"], e.get("excluded", 0), e["pipelines"])
    return found


def differences(got, want):
    for key in sorted(got.keys() | want.keys()):
        if got.get(key) != want.get(key):
            yield f"{' '.join(key)}\n    infer: {got.get(key)}  oracle: {want.get(key)}"


def compare(bin_dir, seed, rounds, until=None):
    """How often each form was learned, until all of them were; stops at the first difference."""
    rng, learned, i = random.Random(seed), collections.Counter(), 0
    while i < rounds and (until is None or until - learned.keys()):
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            folders = [work / f"run{k}" for k in range(rng.choice((1, 1, 2, 4, 7)))]
            for folder in folders:
                random_trace.write(rng, folder)
            is_one_script = rng.random() < 0.5
            got = infer(bin_dir / "traincheck-infer", folders, work / "invariants.jsonl", is_one_script)
            want = oracle.infer(folders, is_one_script)
        lines = list(differences(got, want))
        if lines:
            print(f"seed {seed}, round {i}, {len(folders)} pipelines:", *lines, sep="\n")
            sys.exit(1)
        learned.update(key[0] for key in got)
        i += 1
    print(f"seed {seed}: {i} rounds, {learned.total()} invariants of {len(learned)} forms, all as by brute force")
    return learned


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--rounds", type=int, default=12)
    args = parser.parse_args()
    compare(args.bin.resolve(), args.seed, args.rounds)
    known = compare(args.bin.resolve(), EVERY_FORM, MAX_ROUNDS, until=oracle.FORMS.keys())
    never = oracle.FORMS.keys() - known.keys()
    if never:
        sys.exit(f"never learned, so that nothing was compared: {', '.join(sorted(never))}")


if __name__ == "__main__":
    main()
