#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the first screen of a check say what to fix?

usage: run.py [--sets NAME,...] [--pairs DIR]... [--bin BUILD/bin] [--python PYTHON] [--work WORK] [--reuse] [--only TEXT]
              [--packages NAME,...] [--commit ID] [--readers DIR] [-j N]
       run.py --grades ANSWERS [--verdicts VERDICTS]

A case is a healthy script and a broken one. Both are copied to WORK/diagnosis/SET/CASE as healthy/train.py and
broken/train.py and traced there, as a user has one script and its lines are told without its folder. What is learned with
--specific from two runs of the healthy one, the second with another seed, judges a run of the broken one.

first place   the first finding names a changed line: where it broke (at), its line in the healthy script (healthy_at), or the
              line that it comes from (origin_at). Where a change has lines in one script alone, the lines between which they
              would stand in the other count, too
one finding   nothing else is said, but remarks of a line each
lines         of the text on stdout: median, most; of the cases that have a finding
cut           cases whose text has a line that is cut with an ellipsis, or is longer than 80 columns; the three dots of a list
              that goes on, which follow a blank, do not count

Findings are those of findings.jsonl in the folder of the report; a build that writes none has a finding for each group of
violations.jsonl, whose head says where, and `groups` stands beside its commit.

Readers: --readers DIR writes what stdout said of each case, under a name that tells nothing, to DIR/screens/, and to
DIR/key.json what each name stands for: {name: {case, diff, wrong, fix}}. ANSWERS is of a reader who was given the screens alone:
{name: {"fix": text, "would_know": "yes" | "where" | "something" | "no"}}. VERDICTS is of a judge who has the key as
well: {name: whether the fix is the right one}.

    run.py --python .venv/bin/python                                      the sixteenth set
    run.py --python .venv/bin/python --sets fifteenth,sixteenth -j 2      two of them, and their sum
    run.py --python .venv/bin/python --packages torch --only maml         cases that import torch alone
    run.py --python .venv/bin/python --pairs DIR                          DIR/bugs/CASE/ref.py and bug.py; DIR/cases.json has
                                                                          lines_before, lines_after and kind of each
    run.py --python .venv/bin/python --readers DIR                        screens to be given to readers
    run.py --grades answers.json --verdicts verdicts.json                 shares of what readers made of them

Writes WORK/diagnosis.json and WORK/diagnosis.md. Exit status 0 unless a script or a tool failed.
"""

import ast
import concurrent.futures
import datetime
import difflib
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402

COLUMNS = 80
LEARNED_FROM = ("default", "second")  # runs of benchmarks/blind
CUT = re.compile(r"…|\w\.\.\.|\.\.\.\w")
WORDS = ("yes", "where", "something", "no")
HEAD = ("date", "commit", "set", "cases", "first place", "one finding", "lines (median, max)", "cut")


# ---- cases --------------------------------------------------------------------------------------


class Case:
    """A healthy script and a broken one, and what is known of them."""

    def __init__(self, folder, name, entry, is_pair):
        self.set, self.folder, self.entry = folder.name, folder / "bugs" / name, entry
        self.name, self.kind = f"{folder.name}/{name}", entry.get("kind") or entry.get("class", "")
        if not (self.folder / "ref.py").exists():
            raise harness.Failed(f"{self.folder}: no ref.py there, of which {folder / 'cases.json'} tells")
        if is_pair and not {"lines_before", "lines_after"} <= set(entry):
            raise harness.Failed(f"{folder / 'cases.json'}: {name} lacks lines_before or lines_after")

    def packages(self):
        """What the healthy script imports."""
        if "packages" in self.entry:
            return set(self.entry["packages"])
        nodes = list(ast.walk(ast.parse((self.folder / "ref.py").read_text())))
        names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
        names += [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module and not n.level]
        return {n.partition(".")[0] for n in names} - sys.stdlib_module_names

    def scripts(self, work):
        """The healthy script and the broken one, both with a name that a user would give them."""
        sources = self.folder / "ref.py", harness.broken_script(self.folder, work)
        return [harness.write_if_other(work / "diagnosis" / self.name / what / "train.py", source.read_bytes())
                for what, source in zip(("healthy", "broken"), sources)]

    def changed(self, scripts):
        """The lines of the decisive edit, of each script."""
        if "lines_before" not in self.entry:
            return harness.changed_lines(*scripts, near=True)
        return tuple(set(self.entry[f"lines_{side}"] or self.entry.get(f"near_{side}", [])) for side in ("before", "after"))


def load(folder, is_pair, only):
    """The cases of a folder that has bugs/ and cases.json."""
    try:
        entries = json.loads((folder / "cases.json").read_text())
    except (OSError, ValueError) as e:
        raise harness.Failed(f"{folder}: no cases there: cases.json: {getattr(e, 'strerror', None) or e}") from None
    return [Case(folder, name, entry, is_pair) for name, entry in sorted(entries.items()) if only in name]


def importable(python, packages):
    """Those of the packages that an interpreter has."""
    ask = "import importlib.util, sys; print(*(n for n in sys.argv[1:] if importlib.util.find_spec(n)))"
    try:
        p = subprocess.run([python, "-c", ask, *sorted(packages)], capture_output=True, text=True, check=True)
        return set(p.stdout.split())
    except (OSError, subprocess.CalledProcessError) as e:
        raise harness.Failed(f"{python}: cannot be asked for its packages: {e}") from None


# ---- a screen -----------------------------------------------------------------------------------


def findings(report):
    """What a check says, in order, as findings.jsonl has it, and whether there is such a file."""
    if (report / "findings.jsonl").exists():
        return harness.read_lines(report / "findings.jsonl"), True
    heads = [v for v in harness.read_lines(report / "violations.jsonl") if v.get("head")]
    return [{"kind": "setting" if v.get("setting") else "violation", "sentence": f"{v['expected']}; {v['seen']}",
             "at": v.get("at", ""), "n_violations": v.get("group_size", 1)} for v in heads], False


def is_cut(line):
    return len(line) > COLUMNS or bool(CUT.search(line))


def examine(tools, case, count):
    """What the first screen of a case is like."""
    scripts, name = case.scripts(tools.work), f"diagnosis/{case.name}"
    arguments = harness.runner("blind").Script(case.name, scripts[0], True, case.entry).arguments
    healthy = [tools.trace(f"{name}/{run}", scripts[0], arguments(run), cwd=scripts[0].parent)[0] for run in LEARNED_FROM]
    trace, _ = tools.trace(f"{name}/bug", scripts[1], cwd=scripts[1].parent)
    folder = tools.work / name
    tools.infer(healthy, folder / "invariants.jsonl", ["--specific"])
    shutil.rmtree(folder / "report", ignore_errors=True)  # another build may have left files that this one does not write
    p = tools.run(tools.bin / "traincheck-check", trace, "-i", "invariants.jsonl", "-o", "report", "--no-html-report",
                  "--color", "never", ok=(0, 1, 3), cwd=folder)
    screen = p.stdout.replace(str(trace), "run")
    (folder / "screen.txt").write_text(screen)
    said, is_told = findings(folder / "report")
    lines, changed = screen.splitlines(), case.changed(scripts)
    hits = [i for i, f in enumerate(said, 1) if harness.names_change(f, scripts, changed)]
    row = {"set": case.set, "case": case.name, "kind": case.kind, "findings file": is_told, "findings": sum(f.get("kind") != "remark" for f in said),
           "kinds": [f.get("kind") for f in said], "place": hits[0] if hits else 0, "changed": [sorted(c) for c in changed],
           "places": {key: said[0][key] for key, _ in harness.PLACES if said and said[0].get(key)},
           "says": said[0].get("sentence", "") if said else "", "lines": len(lines), "longest": max(map(len, lines), default=0),
           "cut": [line for line in lines if is_cut(line)], "screen": screen,
           "diff": "".join(difflib.unified_diff(*(s.read_text().splitlines(True) for s in scripts), "healthy", "broken", n=1))}
    told = f"{place(row)}, {row['findings']} finding{'s' * (row['findings'] != 1)}, {row['lines']} lines"
    print(f"{next(count[0])} of {count[1]}: {case.name}: {told}", flush=True)
    return row


# ---- tables -------------------------------------------------------------------------------------


def place(row):
    """Which finding names a changed line."""
    if not row["findings"]:
        return "silent"
    return {0: "no changed line", 1: "changed line first"}.get(row["place"], f"changed line in finding {row['place']}")


def cells(row):
    """The row of a case."""
    says = " ".join(f"{' '.join(row['places'].values())} {row['says']}".split())[:200].replace("|", "\\|")
    return [f"`{row['case']}`", place(row), row["findings"], row["lines"], row["longest"], len(row["cut"]), says]


def share(n, of):
    return f"{n} ({100 * n / of:.0f} %)" if of else "0"


def in_sum(rows, name, commit):
    """The row of a set."""
    told = [r for r in rows if r["findings"]]
    lines = [r["lines"] for r in told]
    silent = f", {len(rows) - len(told)} silent" if len(told) < len(rows) else ""
    values = [datetime.date.today().isoformat(), commit + ("" if any(r["findings file"] for r in rows) else ", groups"), name,
              f"{len(rows)}{silent}",
              share(sum(r["place"] == 1 for r in rows), len(rows)),
              share(sum(r["findings"] == 1 for r in rows), len(rows)),
              f"{statistics.median(lines):g}, {max(lines)}" if lines else "–",
              share(sum(bool(r["cut"]) for r in rows), len(rows))]
    return dict(zip(HEAD, values))


def table(head, rows):
    lines = [f"| {' | '.join(map(str, row))} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def commit_of(folder):
    """The commit of the working tree in which the tools were built."""
    p = subprocess.run(["git", "-C", folder, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True)
    return p.stdout.strip() or "unknown"


# ---- readers ------------------------------------------------------------------------------------


def write_screens(folder, rows, cases):
    """The screens, and apart from them what they are of."""
    (folder / "screens").mkdir(parents=True, exist_ok=True)
    key = {}
    for row in rows:
        name, entry = hashlib.sha256(row["case"].encode()).hexdigest()[:8], cases[row["case"]].entry
        (folder / "screens" / f"{name}.txt").write_text(row["screen"])
        key[name] = {"case": row["case"], "diff": row["diff"]} | {k: entry[k] for k in ("wrong", "fix") if k in entry}
        if row["case"].partition("/")[2] in row["screen"]:
            print(f"{row['case']}: the screen {name}.txt has the name of its case", flush=True)
    (folder / "key.json").write_text(json.dumps(key, indent=1))


def read_object(file):
    try:
        content = json.loads(pathlib.Path(file).read_text())
    except (OSError, ValueError) as e:
        raise harness.Failed(f"{file}: {getattr(e, 'strerror', None) or e}") from None
    if not isinstance(content, dict):
        raise harness.Failed(f"{file}: no object of names")
    return content


def grades(answers_file, verdicts_file):
    """The shares of what readers said they would know, and of the fixes that were right."""
    answers, verdicts = read_object(answers_file), read_object(verdicts_file) if verdicts_file else {}
    for name, answer in answers.items():
        if not isinstance(answer, dict) or answer.get("would_know") not in WORDS:
            raise harness.Failed(f"{answers_file}: {name}: would_know is none of {', '.join(WORDS)}")
    if not answers:
        raise harness.Failed(f"{answers_file}: no answer")
    if verdicts_file and (other := sorted(set(verdicts) ^ set(answers))):
        raise harness.Failed(f"{verdicts_file}: {other[0]} has a verdict or an answer, not both")
    if wrong := [name for name, verdict in verdicts.items() if not isinstance(verdict, bool)]:
        raise harness.Failed(f"{verdicts_file}: {wrong[0]}: a verdict is true or false")
    said = {word: [n for n, a in answers.items() if a["would_know"] == word] for word in WORDS}
    head = ["screens", *(f"would know: {w}" for w in WORDS)]
    row = [len(answers), *(share(len(said[w]), len(answers)) for w in WORDS)]
    if verdicts_file:
        head += ["fix is right", "right, of those who would know"]
        row += [share(sum(verdicts.values()), len(answers)), share(sum(verdicts[n] for n in said["yes"]), len(said["yes"]))]
    return table(head, [row])


# ---- the runner ---------------------------------------------------------------------------------


def chosen(args):
    """{name: case} of those that were asked for and whose packages are there."""
    sets = args.sets or ([] if args.pairs else ["sixteenth"])
    cases = [c for s in sets for c in load(HERE.parent / "blind" / s, False, args.only)]
    cases += [c for folder in args.pairs for c in load(pathlib.Path(folder).resolve(), True, args.only)]
    needed = {c.name: c.packages() for c in cases}
    have = set(args.packages.split(",")) if args.packages else importable(args.python, set().union(*needed.values()))
    for name, packages in needed.items():
        if lacking := sorted(packages - have):
            print(f"left out: {name}: needs {', '.join(lacking)}", flush=True)
    if len(needed) < len(cases):
        raise harness.Failed("two of the folders have one name, and so have cases of theirs")
    if not (cases := {c.name: c for c in cases if needed[c.name] <= have}):
        raise harness.Failed("no case to run")
    return cases


def run():
    p = harness.parser(__doc__)
    p.add_argument("--sets", type=harness.blind_sets, help="blind sets (default sixteenth, or none with --pairs)")
    p.add_argument("--pairs", action="append", default=[], metavar="DIR", help="cases with lines_before and lines_after")
    p.add_argument("--only", default="", help="cases whose name contains this")
    p.add_argument("--packages", metavar="NAME,...", help="only cases that import no others (default: those that PYTHON has)")
    p.add_argument("--commit", metavar="ID", help="of the tools, for the table (default: of the working tree they lie in)")
    p.add_argument("--readers", metavar="DIR", type=pathlib.Path, help="write the screens for readers, and the key")
    p.add_argument("--grades", metavar="ANSWERS", help="say what readers made of the screens, and do nothing else")
    p.add_argument("--verdicts", help="with --grades: whether the fixes that they name are right")
    p.add_argument("-j", "--jobs", type=int, default=1, help="cases that are traced at a time")
    args = p.parse_args()
    if args.verdicts and not args.grades:
        p.error("--verdicts goes with --grades")
    if args.grades:
        print(grades(args.grades, args.verdicts))
        return 0
    if args.readers and args.readers.exists() and any(args.readers.iterdir()):
        p.error(f"--readers: {args.readers} holds files; name an empty folder")
    tools, cases = harness.tools(args), chosen(args)
    count = itertools.count(1), len(cases)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        done, failed = harness.in_parallel(pool, {name: (examine, tools, case, count) for name, case in cases.items()})
    rows, commit = list(done.values()), args.commit or commit_of(args.bin)
    sets = list(dict.fromkeys(r["set"] for r in rows))
    sums = [in_sum([r for r in rows if r["set"] == name], name, commit) for name in sets]
    sums += [in_sum(rows, "all", commit)] if len(sets) > 1 else []
    text = table(HEAD, [s.values() for s in sums])
    details = table(("case", "place", "findings", "lines", "longest", "cut lines", "the first finding"), map(cells, rows))
    report = ["# Diagnosis", "", *(f"* failed: {f}" for f in failed), "", text, "", details, ""]
    (tools.work / "diagnosis.json").write_text(json.dumps({"sums": sums, "failed": failed, "cases": rows}, indent=1))
    (tools.work / "diagnosis.md").write_text("\n".join(report))
    if args.readers:
        write_screens(args.readers, rows, cases)
    print(f"{text}\nreport: {os.path.relpath(tools.work / 'diagnosis.md')}")
    return 1 if failed else 0


if __name__ == "__main__":
    harness.main(run)
