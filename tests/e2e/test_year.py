# SPDX-License-Identifier: Apache-2.0
"""A year of examples/year: twelve commits of one repository, each checked by the steps of action.yml.

usage: test_year.py --bin BUILD/bin --python PYTHON [--update]

The repository begins with train.py and what two healthy runs of it taught. A commit is a patch of history/. What is meant
must be one accept of three findings at most; what is a bug must fail the job, after all accepts before it. The whole is
laid beside examples/year/HISTORY.md, but for numbers, where torch is the one that wrote that; --update writes it.

Commit 10 brings a torch that no index has: newer_torch/ stands in for it. Needs PyYAML.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from warm import warm_python  # noqa: E402

YEAR = ROOT / "examples" / "year"
HERE = pathlib.Path(__file__).resolve().parent
RUN_ACTION = ROOT / "tests" / "package" / "run_action.py"
BUGS = {3, 7, 12}
MOST_FINDINGS = 3
HEAD = """# What a year prints

The commits of [history/](history), each with what the steps of [`action.yml`](../../action.yml) print for it, and the command
that accepts it. `tests/e2e/test_year.py` makes this page and holds it, with torch {torch}. Commit 10 simulates a newer torch.
"""


class Repository:
    def __init__(self, folder, bin_dir, python):
        self.folder = folder
        for name in ("train.py", "requirements.txt"):
            shutil.copy(YEAR / name, folder)
        tools = folder.parent / "tools"
        tools.mkdir()
        self.python, self.pythons = python, folder.parent / "pythons"
        self.times = folder.parent / "times"
        for tool in ("traincheck-check", "traincheck-infer"):
            (tools / tool).write_text(f'#!/bin/sh\n{shlex.quote(str(bin_dir / tool))} "$@"\nstatus=$?\ntimes >>{self.times}\nexit $status\n')
            (tools / tool).chmod(0o755)
        self.env = {**os.environ, "PATH": os.pathsep.join([str(tools), str(bin_dir), os.environ["PATH"]]), "VIRTUAL_ENV": "",
                    "CONDA_PREFIX": "", "OMP_NUM_THREADS": "1", "COLUMNS": "100"}
        self.env.pop("PYTHONPATH", None)

    def python_of(self, requirements):
        """A folder of PATH with the python3 that has the torch that is required."""
        is_newer = "torch==2.99" in requirements
        folder = self.pythons / ("newer" if is_newer else "older")
        if not folder.exists():
            folder.mkdir(parents=True)
            below = ("env", f"PYTHONPATH={HERE / 'newer_torch'}") if is_newer else ()
            python = warm_python(self.python, ["sklearn.datasets"], below, OMP_NUM_THREADS="1")
            (folder / "python3").write_text(f'#!/bin/sh\nexec {shlex.quote(str(python))} "$@"\n')
            (folder / "python3").chmod(0o755)
        return folder

    def run(self, *command, code=0):
        python = self.python_of((self.folder / "requirements.txt").read_text())
        env = {**self.env, "PATH": f"{python}{os.pathsep}{self.env['PATH']}"}
        p = subprocess.run(command, cwd=self.folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert code is None or p.returncode == code, f"{shlex.join(map(str, command))} ended with {p.returncode}:\n{p.stdout}"
        return p

    def shown(self, *command, code=0):
        """A command and what it prints, as a page shows them."""
        return f"$ {shlex.join(command)}\n{self.run(*command, code=code).stdout}"

    def patch(self, patch, *options):
        self.run("git", "apply", *options, str(patch))

    def continuous_integration(self):
        """What the job prints when the script has run, its status, and its findings."""
        shutil.rmtree(self.folder / "traincheck", ignore_errors=True)
        p = self.run(sys.executable, "-B", RUN_ACTION, ROOT / "action.yml", "script=train.py", "invariants=invariants.jsonl", code=None)
        assert "\n-- Check\n" in p.stdout, p.stdout
        printed, outputs = p.stdout.split("\n-- Check\n")[1].split("-- left out: Keep the reports\n-- outputs\n")
        printed = "".join(line for line in printed.splitlines(True) if not line.startswith("::"))  # annotations of its lines
        findings = (self.folder / "traincheck/report/findings.jsonl").read_text().splitlines()
        return printed, int(re.search(r"status=(\d+)", outputs)[1]), len(findings)

    def seconds_of_tools(self):
        """Processor time of all checks, accepts and learning. What the script and its trace take is not in it."""
        spent = self.times.read_text().splitlines()[1::2]  # below what each shell took itself
        return sum(60 * float(minutes) + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", "\n".join(spent)))

    def invariants(self):
        return (self.folder / "invariants.jsonl").read_text().splitlines()


def check_arguments(*more):
    return ("traincheck-check", "traincheck/trace", "-i", "invariants.jsonl", "-o", "traincheck/report", *more)


def begin(repository):
    for seed in ("1", "2"):
        repository.run("traincheck-collect", "-q", "-o", f"good{seed}", "train.py", "--seed", seed)
    return repository.shown("traincheck-infer", "--specific", "good1", "good2", "-o", "invariants.jsonl")


def what_the_bytes_are(repository):
    """What the page of the format quotes of the first set."""
    path = repository.folder / "invariants.jsonl"
    kinds = collections.Counter()
    for line in map(json.loads, path.read_text().splitlines()):
        about = line.get("params", [line])[0]
        kinds["heading" if about is line and "subject" in line else "below" if "attribute" in line else
              "alone" if "subject" in about else line.get("traincheck", "other")] += 1
    invariants = kinds["below"] + kinds["alone"] + kinds["other"]
    return [f"give {invariants:,} invariants in {path.stat().st_size / 1e6:.2f} MB.",
            f"| facts below headings, without their text | {kinds['below']:,} |",
            f"| facts that are alone with their subject | {kinds['alone']:,} |", f"| headings | {kinds['heading']:,} |",
            f"| excerpts of two healthy runs | {kinds['excerpt']} |", f"| other invariants | {kinds['other']:,} |"]


def without_check(printed):
    """Of an accept: the check that comes with it was shown before."""
    known = re.compile(r"traincheck-check: (read \d|\d+ invariants: |reports in )")
    return "".join(f"{line}\n" for line in printed.split("\n") if line.startswith(("$ ", "traincheck-check: ")) and not known.match(line))


def accept(repository, title):
    """What the page says of it, and the lines of the file that are others."""
    before = repository.invariants()
    (repository.folder / "before.jsonl").write_text("".join(f"{line}\n" for line in before))
    printed = without_check(repository.shown(*check_arguments("--accept", "--note", title)))
    after = repository.invariants()
    again = repository.run(*check_arguments("-q"))  # what was accepted passes
    assert again.stdout == "", again.stdout
    lines = f"-{len(set(before) - set(after))} +{len(set(after) - set(before))} of {len(after)}"
    repository.run("traincheck-infer", "--diff", "before.jsonl", "invariants.jsonl", code=1)
    return f"\nIt is meant:\n\n{indented(printed)}\nLines of `invariants.jsonl`: {lines}.\n", lines


def commit(repository, number, patch):
    """One commit, as the page has it."""
    title = patch.read_text().split("\n", 1)[0]
    repository.patch(patch)
    printed, status, n_findings = repository.continuous_integration()
    what = f"status {status}, {n_findings} finding{'' if n_findings == 1 else 's'}"
    print(f"{number:2}. {title}: {what}", flush=True)
    section = f"\n## {number}. {title}\n\nThe job: {what}.\n\n{indented(printed)}"
    if number in BUGS:
        assert status == 1 and n_findings, f"the bug passes:\n{printed}"
        repository.patch(patch, "--reverse")
        return section + "\nA bug: it is not merged.\n"
    assert n_findings <= MOST_FINDINGS, printed
    assert status == (n_findings > 0), printed
    if status == 0:
        return section
    accepted, lines = accept(repository, title)
    print(f"    lines of invariants.jsonl: {lines}", flush=True)
    return section + accepted


def end(repository):
    """Another seed, which nobody has seen, is accused of nothing, and joins the set."""
    repository.run("traincheck-collect", "-q", "-o", "good3", "train.py", "--seed", "3")
    healthy = repository.shown("traincheck-check", "good3", "-i", "invariants.jsonl", "-o", "report3")
    added = repository.shown("traincheck-infer", "--specific", "--add", "good3", "-o", "invariants.jsonl")
    return f"\n## A healthy run more\n\nAnother seed breaks nothing, and joins the set:\n\n{indented(healthy)}\n{indented(added)}"


def indented(text):
    return "".join(f"    {line}".rstrip() + "\n" for line in text.rstrip("\n").split("\n"))


def without_numbers(text):
    return re.sub(r"\d+([.-]\d+)*(e-\d+)?", "#", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write examples/year/HISTORY.md")
    options = parser.parse_args()
    ask = "import importlib.metadata; print(importlib.metadata.version('torch').split('+')[0])"  # to import torch takes longer
    torch = subprocess.run([options.python, "-c", ask], text=True, capture_output=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "year"
        folder.mkdir()
        repository = Repository(folder, options.bin.resolve(), options.python.absolute())
        page = HEAD.format(torch=torch) + f"\n## The first set\n\n{indented(begin(repository))}"
        quoted = what_the_bytes_are(repository)
        for number, patch in enumerate(sorted((YEAR / "history").glob("*.patch")), 1):
            page += commit(repository, number, patch)
        page += end(repository)
        bug = sorted((YEAR / "history").glob("*.patch"))[-1]
        repository.patch(bug)
        assert repository.continuous_integration()[1] == 1, "the last bug passes once a healthy run was added"
        print(f"the tools took {repository.seconds_of_tools():.1f} s of processor time in all", flush=True)
    history = YEAR / "HISTORY.md"
    if options.update:
        history.write_text(page)
        return
    told = history.read_text()
    if f"with torch {torch}." not in told:
        print(f"torch {torch} is not the one of {history.name}: the page is not compared")
        return
    format_page = (ROOT / "docs" / "invariant-format.md").read_text()
    missing = [text for text in quoted if text not in format_page]
    if missing:
        sys.exit(f"docs/invariant-format.md does not say: {missing}")
    if without_numbers(told) != without_numbers(page):
        sys.stdout.write(page)
        sys.exit(f"{history} is not what the year prints: see above, or write it by --update")


main()
