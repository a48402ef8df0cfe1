#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One cell of the matrix: a Python with a torch. Writes what came of each program of train.py as JSON.

usage: cell.py --bin BUILD/bin --python PYTHON [--out FILE]

Exit status: 0 all is well, 1 a program was changed, accused, or not traced in full.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
from traced import decode  # noqa: E402

PROGRAMS = "digits", "gpt", "ddp", "compile", "amp"
LIMIT = 240  # seconds of one program, of which most take 10
TRIES = 2    # of a program that did not end: gloo of old releases has races of its own. The table says so.
VERSIONS = "import platform, torch; print(platform.python_version(), torch.__version__)"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def run_once(command):
    """What the command said, or None: then it did not end, and its processes were killed."""
    env = {**os.environ, "MASTER_PORT": free_port(), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
                          start_new_session=True) as process:
        try:
            said = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # ranks, too
            process.communicate()
            return None
    return subprocess.CompletedProcess(command, process.returncode, *said)


def run(command):
    """As subprocess.run(), with .tries; a program that never ended has the exit status of timeout(1)."""
    command = [str(c) for c in command]
    for tries in range(1, TRIES + 1):
        done = run_once(command)
        if done:
            break
    done = done or subprocess.CompletedProcess(command, 124, "", f"did not end in {LIMIT} s, {TRIES} times\n")
    done.tries = tries
    return done


def why(done):
    """The last line that it said."""
    return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:200]


def slow(**programs):
    """Which programs did not end at their first try; {} when all did."""
    again = [name for name, done in programs.items() if done.tries > 1]
    return {"again": again} if again else {}


def said(done):
    """What train.py tells: numbers and digests."""
    return done.returncode, re.findall(r"=([0-9a-f]+)=", done.stdout)


def read(folder):
    """Steps, those that tell what they own, notes."""
    records = [json.loads(line) for file in sorted(folder.glob("trace_*")) for line in decode(file).splitlines()]
    steps = [r for r in records if r["type"] == "call" and r["fn"] == "torch.optim.Optimizer.step"]
    return {"steps": len(steps), "with_params": sum(bool(s.get("params")) for s in steps),
            "notes": sorted({f"{r['code']}: {r.get('text', '')}" for r in records
                             if r["type"] == "note" and r["code"] != "rank"})}


def judge(options, program, work):
    script = [HERE / "train.py", program]
    plain = run([options.python, *script])
    if plain.returncode:
        return {"plain": why(plain), **slow(untraced=plain)}  # this torch cannot do it, with us or without
    folder = work / program
    traced = run([options.bin / "traincheck-collect", "--python", options.python, "--overwrite", "-o", folder, *script])
    found = {"same": said(traced) == said(plain), **read(folder), **slow(untraced=plain, traced=traced)}
    if not found["same"]:
        found["why"] = why(traced)
    checked = run([options.bin / "traincheck-check", folder, "-i", "@all", "-o", work / f"{program}-report"])
    summary = work / f"{program}-report" / "violations_summary.json"
    found["alarms"] = json.loads(summary.read_text())["counts"]["failed"] if summary.exists() else why(checked)
    return found


def is_well(found):
    if "plain" in found:
        return True
    return found["same"] and found["alarms"] == 0 and found["steps"] == found["with_params"] > 0 and \
        not any(note.startswith("switched-off") for note in found["notes"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    versions = run([options.python, "-c", VERSIONS])
    if versions.returncode:
        parser.exit(2, f"{options.python}: {why(versions)}\n")
    cell = dict(zip(("python", "torch"), versions.stdout.split()))
    with tempfile.TemporaryDirectory() as work:
        cell["programs"] = {p: judge(options, p, pathlib.Path(work)) for p in PROGRAMS}
    text = json.dumps(cell, indent=1) + "\n"
    options.out.write_text(text) if options.out else print(text, end="")
    sys.exit(not all(map(is_well, cell["programs"].values())))


if __name__ == "__main__":
    main()
