#!/usr/bin/env python3
"""What infer finds in small random traces is what brute force finds that follows the definitions.

usage: test_oracle.py --bin BUILD/bin [--seed N] [--rounds N]
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import oracle
import random_trace


def infer(tool, folders, output):
    subprocess.run([str(tool), "-q", "--keep-implied", "--enable-relation", ",".join(oracle.FORMS), "-o", str(output),
                    *map(str, folders)], check=True, timeout=120)
    found = {}
    for line in output.read_text().splitlines()[1:]:
        x = json.loads(line)
        e = x["evidence"]
        if e["broken"]:
            raise SystemExit(f"broken where it was learned: {line}")
        found[x["relation"], oracle.text(x["params"]), oracle.text(x["when"])] = (e["held"], e["excluded"], e["pipelines"])
    return found


def differences(got, want):
    for key in sorted(got.keys() | want.keys()):
        if got.get(key) != want.get(key):
            yield f"{' '.join(key)}\n    infer: {got.get(key)}  oracle: {want.get(key)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--rounds", type=int, default=12)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    forms, learned = set(), 0
    for i in range(args.rounds):
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            folders = [work / f"run{k}" for k in range(rng.choice((1, 1, 2, 4, 7)))]
            for folder in folders:
                random_trace.write(rng, folder)
            got = infer(args.bin.resolve() / "traincheck-infer", folders, work / "invariants.jsonl")
            want = oracle.infer(folders)
        lines = list(differences(got, want))
        if lines:
            print(f"seed {args.seed}, round {i}, {len(folders)} pipelines:", *lines, sep="\n")
            sys.exit(1)
        forms |= {key[0] for key in got}
        learned += len(got)
    print(f"seed {args.seed}: {args.rounds} rounds, {learned} invariants of {len(forms)} forms, all as by brute force")
    sys.exit(learned == 0)


if __name__ == "__main__":
    main()
