#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The facts that infer finds in small random traces are those of brute force.

usage: test_facts.py --bin BUILD/bin [--seed N] [--rounds N]
"""

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import invariant_file
import random_trace
from oracle import facts

FORMS = "APIArg/value,APIArg/source,APIOutput/value,APISequence/count,APISequence/before,EventContain/set,Consistent/attribute"
EVERY_ATTRIBUTE, ROUNDS = 48, 12  # a seed whose traces teach every attribute in so many rounds


def refuse_untold_attributes():
    """Nothing would compare one that is in neither set."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "src/invariant/fact.h").read_text(encoding="utf-8")
    names = set(re.findall(r'X\(\w+, "(\w+)"\)', text.split("#define TC_ATTRIBUTE_MAP(X)")[1].split("\n\n")[0]))
    untold = names ^ (facts.COVERED | facts.NOT_COVERED)
    if untold:
        sys.exit(f"oracle/facts.py: COVERED or NOT_COVERED is to name what fact.h does, not {', '.join(sorted(untold))}")


def infer(tool, folders, output):
    subprocess.run([tool, "-q", "--specific", "--keep-implied", "--enable-relation", FORMS, "-o", output, *folders], check=True, timeout=120)
    found = {}
    for x in invariant_file.read(output):
        if "relation" not in x:  # the header, excerpts
            continue
        subject, claim = x["params"][0], x["params"][1]
        key = tuple(sorted({**{k: v for k, v in subject.items() if k != "subject"}, "kind": subject["subject"]}.items()))
        if claim["attribute"] in facts.COVERED and subject["subject"] in ("call", "window", "flow", "run", "inside"):
            found[key, claim.get("operand"), claim["attribute"]] = claim["is"], x["evidence"]["held"]
    return found


def compare(bin_dir, seed, rounds):
    rng, learned = random.Random(seed), collections.Counter()
    for i in range(rounds):
        with tempfile.TemporaryDirectory() as work:
            folders = [pathlib.Path(work) / f"run{k}" for k in range(rng.choice((1, 2, 2, 3)))]
            for folder in folders:
                random_trace.write(rng, folder)
            got = infer(bin_dir / "traincheck-infer", folders, pathlib.Path(work) / "facts.jsonl")
            want = facts.infer(folders)
        wrong = [key for key in got.keys() | want.keys() if got.get(key) != want.get(key)]
        for key in sorted(wrong, key=str)[:20]:
            print(f"seed {seed}, round {i}: {key}\n    infer: {got.get(key)}  brute force: {want.get(key)}")
        if wrong:
            sys.exit(1)
        learned.update(key[2] for key in got)
    print(f"seed {seed}: {rounds} rounds, {learned.total()} facts of {len(learned)} attributes, all as by brute force")
    return learned


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    refuse_untold_attributes()
    compare(args.bin.resolve(), args.seed, args.rounds)
    never = facts.COVERED - compare(args.bin.resolve(), EVERY_ATTRIBUTE, ROUNDS).keys()
    if never:
        sys.exit(f"never learned, so that nothing was compared: {', '.join(sorted(never))}")


if __name__ == "__main__":
    main()
