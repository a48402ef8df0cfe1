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
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
from traced import decode  # noqa: E402

PROGRAMS = "digits", "gpt", "ddp", "compile", "amp"
VERSIONS = "import platform, torch; print(platform.python_version(), torch.__version__)"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def run(command):
    env = {**os.environ, "MASTER_PORT": free_port(), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, env=env, timeout=1200)


def why(done):
    """The last line that it said."""
    return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:200]


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
        return {"plain": why(plain)}  # this torch cannot do it, with us or without
    folder = work / program
    traced = run([options.bin / "traincheck-collect", "--python", options.python, "-o", folder, *script])
    found = {"same": said(traced) == said(plain), **read(folder)}
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
