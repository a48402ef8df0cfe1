#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run command line cases and compare what they print with what is expected.

usage: run.py --bin BUILD/bin [--with-torch] [--update] CASE...

A case is a folder:

  cmd       a shell script; it runs in an empty folder, with the tools on PATH,
            CASE set to the case's folder and PYTHON to this interpreter
  stdout    what it must print (no file: nothing)
  stderr    the same for standard error
  code      its exit status (no file: 0)

A folder without `cmd` stands for all cases below it. Paths, times and rates
are normalised first. --update writes what was printed as the expectation;
review the difference. With --with-torch scripts of PYTHON run in children of
an interpreter that has imported torch and scikit-learn (warm.py).
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

from warm import warm_python

NORMALISE = [
    (r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d", "<date-time>"),
    (r"\bin \d+\.\d+ s\b", "in <n> s"),
    (r"\b\d+(\.\d+)? ([MG]B)(/s)?", r"<n> \2\3"),
    (r"(?m)^python: .*", "python: <python>"),
    (r"\b(zstd|libuv|cJSON|xxHash) \d+(\.\d+)+", r"\1 <version>"),
]


def normalise(text, folders):
    for name, path in folders.items():
        text = text.replace(str(path), name)
    for pattern, replacement in NORMALISE:
        text = re.sub(pattern, replacement, text)
    return text


def run_case(case, bin_dir, python):
    """What the case gives: a dict of file name to text."""
    with tempfile.TemporaryDirectory() as work:
        work = os.path.realpath(work)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("NO_COLOR", "TRAINCHECK"))}
        env |= {"PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}", "CASE": str(case),
                "PYTHON": str(python), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C"}
        p = subprocess.run(["sh", str(case / "cmd")], cwd=work, env=env, capture_output=True,
                           stdin=subprocess.DEVNULL, timeout=300)
        folders = {"<work>": work, "<case>": case, "<bin>": bin_dir, "<build>": bin_dir.parent}
        out, err = (normalise(b.decode(errors="replace"), folders) for b in (p.stdout, p.stderr))
        return {"stdout": out, "stderr": err, "code": f"{p.returncode}\n"}


def expected(case, name):
    file = case / name
    if file.exists():
        return file.read_text()
    return "0\n" if name == "code" else ""


def write_expected(case, name, text):
    if text == ("0\n" if name == "code" else ""):
        (case / name).unlink(missing_ok=True)
    else:
        (case / name).write_text(text)


def compare(case, got):
    """Lines that say where got differs from what is expected."""
    lines = []
    for name, text in got.items():
        want = expected(case, name)
        if text != want:
            lines += difflib.unified_diff(want.splitlines(), text.splitlines(),
                                          f"expected {name}", f"got {name}", lineterm="")
    return lines


def complaints(case, bin_dir, python, update):
    """What is wrong with the case, as lines. Whatever it raises is its own failure: the other cases are run."""
    try:
        got = run_case(case, bin_dir, python)
        if not update:
            return compare(case, got)
        for name, text in got.items():
            write_expected(case, name, text)
        return []
    except Exception:
        return [traceback.format_exc()]


def cases_below(folder):
    folder = pathlib.Path(folder).resolve()
    return [folder] if (folder / "cmd").exists() else sorted(f.parent for f in folder.glob("**/cmd"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--with-torch", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("cases", nargs="+")
    args = parser.parse_args()
    cases = [case for folder in args.cases for case in cases_below(folder)]
    python = warm_python(sys.executable, ["sklearn.datasets"]) if args.with_torch else sys.executable
    failed = 0
    for case in cases:
        if lines := complaints(case, args.bin.resolve(), python, args.update):
            failed += 1
            print(f"{case}:", *lines, sep="\n", flush=True)
    print(f"{len(cases)} cases, {failed} failed")
    if failed and not args.update:
        print("where what is printed is right, --update writes it")
    sys.exit(failed > 0 or not cases)


if __name__ == "__main__":
    main()
