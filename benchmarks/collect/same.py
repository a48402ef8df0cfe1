#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a device leave the trace that the CPU leaves? Of programs/exact.py, whose numbers are the same on both.

usage: same.py [--bin build/bin] [--python PYTHON] [--options "--content full"]

Runs it on the CPU and on BENCH_DEVICE (default cuda). All records must be the same but for their times, the names of devices and what
the agent notes. BENCH_DEVICE=cpu takes the CPU for a device of CUDA, by the stand-ins of the build, for which the tests must be built.
Exit status 1 if something differs, or if the device was not asked by the kernel."""
import argparse
import json
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "python"), str(HERE.parent)]
import elsewhere  # noqa: E402
import harness  # noqa: E402

DEVICE = os.environ.get("BENCH_DEVICE", "cuda")
OFF = "no-kernel", "no-memory", "switched-off"


def trace(args, folder, device, env):
    command = [args.bin / "traincheck-collect", "-q", "--python", args.python, "-o", folder, *args.options.split(), HERE / "programs" / "exact.py"]
    env = {**os.environ, "BENCH_DEVICE": device, **env}
    done = harness.run_limited(command, elsewhere.LIMIT_S, env=env)
    if done.returncode:
        raise harness.Failed(f"on {device}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    text = json.dumps(elsewhere.records(folder))
    return json.loads(re.sub(r'"cuda(:\d+)?"', '"cpu"', text) if device != "cpu" else text)


def split(files):
    """Without notes; and the notes."""
    notes = [record for file in files for record in file if record["type"] == "note"]
    return [[r for r in file if r["type"] not in ("note", "end")] for file in files], notes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build" / "bin")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--options", default="", help="of traincheck-collect")
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        here, _ = split(trace(args, work / "cpu", "cpu", {}))
        there, notes = split(trace(args, work / "device", DEVICE, harness.stand_in(args.bin.parent) if DEVICE == "cpu" else {}))
    for note in notes:
        print(f"note {note['code']}: {note.get('text', '')}")
    differs = elsewhere.difference(here, there)
    print(f"{DEVICE}: " + (f"not as on the CPU: {differs}" if differs else f"{sum(map(len, there))} records, as on the CPU"))
    return bool(differs) or any(note["code"] in OFF for note in notes)


if __name__ == "__main__":
    harness.main(main)
