#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run tests of a build one after the other, and print the seconds and the processor seconds of each, the dearest first.

ctest's own times are those of tests that share the cores. These count what a test's processes use, and what it leaves running."""
import argparse
import ctypes
import json
import os
import re
import resource
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def tests_of(folder, pattern):
    """name, command, properties of each test that the pattern finds"""
    listed = json.loads(subprocess.check_output(["ctest", "--test-dir", folder, "--show-only=json-v1"]))
    for test in listed["tests"]:
        if "command" in test and re.search(pattern, test["name"]):
            yield test["name"], test["command"], {p["name"]: p["value"] for p in test.get("properties", ())}


def wait_for_orphans():
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(command, properties):
    """seconds, processor seconds, exit status"""
    env = dict(os.environ, **dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", ())))
    began, before = time.monotonic(), used()
    done = subprocess.run(command, env=env, cwd=properties.get("WORKING_DIRECTORY"), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    wait_for_orphans()
    return seconds, used() - before, done.returncode


def adopt_orphans():
    """What a test leaves running becomes a child of this process."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="the build")
    parser.add_argument("pattern", nargs="?", default="", help="of tests' names")
    args = parser.parse_args()
    adopt_orphans()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as test.sh has it
    rows = []
    for name, command, properties in tests_of(args.folder, args.pattern):
        seconds, processor, code = measured(command, properties)
        print(f"{seconds:8.1f} {processor:8.1f}  {name}{f'  exit {code}' if code else ''}", file=sys.stderr, flush=True)
        rows.append((processor, seconds, name))
    rows.sort(reverse=True)
    print(" seconds processor")
    for processor, seconds, name in rows:
        print(f"{seconds:8.1f} {processor:8.1f}  {name}")
    print(f"{sum(r[1] for r in rows):8.1f} {sum(r[0] for r in rows):8.1f}  of {len(rows)} tests")


if __name__ == "__main__":
    main()
