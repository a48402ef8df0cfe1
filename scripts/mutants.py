#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Change lines of src/ that chance picks, one at a time, and count which changes the quick tests notice.

usage: mutants.py [--seed N] [--count N] [--first N] [--label-exclude REGEX] BUILD

BUILD is a build of this checkout. A condition is negated, a bound moves by one, or a statement goes. What no longer compiles is not
counted. Each mutant takes the tests' time, so --first goes on where another call has ended. The file is restored whatever happens.
"""
import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys

from test_times import adopt_orphans

ROOT = pathlib.Path(__file__).resolve().parents[1]
QUICK = "^(torch|packages|fuzz|slow|law)$"  # law: the form of a mutant is no behaviour
BOUNDS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > "}


def negated(line):
    match = re.fullmatch(r"(\s*(?:\} else )?if )\((.*)\)( \{)?\n", line)
    if match and match[2].count("(") == match[2].count(")"):
        yield f"{match[1]}(!({match[2]})){match[3] or ''}\n"


def moved(line):
    for bound in BOUNDS:
        if bound in line and line[0] in " \t":
            yield line.replace(bound, BOUNDS[bound], 1)


def dropped(line):
    """A call or an assignment that begins and ends in this line."""
    if re.fullmatch(r"\s+(?!return|goto|break|continue|struct|const|static)[\w\[\]>.*-]+(\(.*\)| [-+*/|&]?= .*|\+\+|--);\n", line):
        yield re.sub(r"\S.*", ";", line)


def mutants_of(path):
    """(number of the line, what it becomes)"""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(True)):
        if "/*" not in line and " * " not in line[:6]:
            for change in (*negated(line), *moved(line), *dropped(line)):
                yield path, number, change


def end_orphans():
    """A mutant that never ends outlives its test, and would slow all others."""
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children")
    while pids := children.read_text().split():
        for pid in map(int, pids):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def is_noticed(build, exclude):
    """By which test; None if the mutant does not compile, "" if no test fails."""
    if subprocess.run(["cmake", "--build", build, "-j2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        return None
    command = ["ctest", "--test-dir", build, "-LE", exclude, "-j4", "--stop-on-failure", "--timeout", "300"]
    try:
        out = subprocess.run(command, capture_output=True, text=True).stdout
    finally:
        end_orphans()
    failed = re.findall(r"Test +#\d+: (\S+) \.+\**(?:Failed|Timeout|Exception|Subprocess)", out)
    return failed[0] if failed else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=48)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--label-exclude", default=QUICK)
    options = parser.parse_args()
    adopt_orphans()
    lines = {}
    for path in sorted((ROOT / "src").rglob("*.c")):
        for mutant in mutants_of(path):
            lines.setdefault(mutant[:2], []).append(mutant)
    chance = random.Random(options.seed)
    chosen = [chance.choice(of_line) for of_line in chance.sample(list(lines.values()), 4 * options.count)]
    n, killed = 0, 0
    for i, (path, number, change) in enumerate(chosen[options.first:], options.first):
        text = path.read_text(encoding="utf-8")
        before = text.splitlines(True)
        try:
            path.write_text("".join([*before[:number], change, *before[number + 1:]]), encoding="utf-8")
            by = is_noticed(options.build, options.label_exclude)
        finally:
            path.write_text(text, encoding="utf-8")
        if by is not None:
            n, killed = n + 1, killed + bool(by)
            print(f"{i:3} {by or 'SURVIVES':24} {path.relative_to(ROOT)}:{number + 1}: {before[number].strip()} -> {change.strip()}", flush=True)
        if n == options.count:
            break
    print(f"{killed} of {n} are noticed")
    sys.exit(n == 0)


if __name__ == "__main__":
    main()
