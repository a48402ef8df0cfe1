# SPDX-License-Identifier: Apache-2.0
"""A batch twice as large is a setting, and all that follows from it is: with --fail-on law a check passes.

usage: test_batch_size.py --bin BUILD/bin --python PYTHON [SCRIPT...]

Six ordinary scripts: each is learned from by two seeds, and run by a third one with a batch of twice the size.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from warm import warm_python  # noqa: E402

SCRIPTS = {
    "examples/digits/train.py": 72,
    "examples/spirals/train.py": 50,
    "examples/year/train.py": 32,
    "benchmarks/pipelines/robust_regression.py": 32,
    "benchmarks/pipelines/seq2seq_attention.py": 64,
    "benchmarks/pipelines/vit_digits.py": 140,
}


def place(script, folder):
    """A copy of the script, with the module that some import from beside them."""
    for path in (ROOT / script, (ROOT / script).with_name("options.py")):
        if path.exists():
            shutil.copy(path, folder)
    return folder / pathlib.Path(script).name


def double(path, size):
    text, before = path.read_text(), f"batch_size={size},"
    assert text.count(before) == 1, f"{path.name} has no {before}"
    path.write_text(text.replace(before, f"batch_size={2 * size},"))


def judge(script, size, run):
    """The exit status of the check, and what it prints."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        copy = place(script, folder)
        for seed in (1, 2):
            run("collect", "-q", "-o", f"good{seed}", copy, "--seed", seed, cwd=folder)
        run("infer", "-q", "--specific", "good1", "good2", "-o", "invariants.jsonl", cwd=folder)
        double(copy, size)
        run("collect", "-q", "-o", "run", copy, "--seed", 3, cwd=folder)
        p = run("check", "run", "-i", "invariants.jsonl", "-o", "report", "--fail-on", "law", cwd=folder, code=None)
        return p.returncode, p.stdout + p.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python", required=True, type=pathlib.Path)
    parser.add_argument("scripts", nargs="*", default=list(SCRIPTS))
    options = parser.parse_args()
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    traced = warm_python(options.python.absolute(), ["sklearn.datasets"], OMP_NUM_THREADS="1")

    def run(tool, *args, cwd, code=0):
        python = ["--python", traced] if tool == "collect" else []
        command = [str(word) for word in (options.bin.resolve() / f"traincheck-{tool}", *python, *args)]
        p = subprocess.run(command, cwd=cwd, env=env, text=True, capture_output=True, check=False)
        assert code is None or p.returncode == code, f"{command} ended with {p.returncode}:\n{p.stdout}{p.stderr}"
        return p

    failed = 0
    for script in options.scripts:
        status, printed = judge(script, SCRIPTS[script], run)
        print(f"{script}: status {status}", flush=True)
        if status:
            print(printed)
            failed += 1
    sys.exit(f"{failed} of {len(options.scripts)} scripts break a law by their batch size" if failed else 0)


main()
