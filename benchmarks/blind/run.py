#!/usr/bin/env python3
"""What is found of bugs that no definition was mended on, and which healthy habits are accused?

usage: run.py [--set NAME] [--bin BUILD/bin] [--python PYTHON] [--work DIR] [--reuse] [--part bugs|healthy]
              [--modes one,two,...] [--runs default,second,other] [--only TEXT] [-j N]
       run.py [--set NAME] --table     what is known of each script, from cases.json and healthy.json

A set is a folder beside this file, first/ if none is named. In it bugs/CASE has ref.py, a healthy script, and bug.diff, which
breaks a few lines of it; healthy/NAME.py has habits that are unusual and right. cases.json and healthy.json say what each is.
Every script runs with its defaults and with other seeds. The broken scripts are made in DIR/bugs/.

one       learned from one run of the healthy script
two       learned from two runs of it, the second with another seed
specific  as two, with --specific: all traces are runs of one script; specific-one has only the first, specific-three
          a third with one more seed (only when --modes asks for it)
lean      as specific, with --lean: all traces are judged without the calls that it leaves out (only when --modes asks for it)
shipped   the invariants that come with the tools (@all)

found   the check of the broken script has violations
named   a place of the first finding is a changed line, or its words match the case's pattern in bugs/expect.json; named later:
        so with another finding
chance  how often the pattern of a case matches the first finding of another one
alarms  violations on healthy runs that were not learned from: "other" has a seed of its own and half the learning rate, which
        may be said; "default", "second" and "third" (other seeds) are the runs that the modes learn from

Writes DIR/blind.json and DIR/blind.md. Exit status 0 unless a script or a tool failed.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402

MODES = ("one", "two", "specific-one", "specific", "shipped")
SEEDS = {"second": 11, "third": 23, "other": 37, "4x": 41, "10x": 43}
LONGER = {"4x": 4, "10x": 10}  # runs of benchmarks/ledger alone, with so many times the steps
RUNS = ("default", *(run for run in SEEDS if run not in LONGER))
LEARNED_FROM = {"shipped": 0, "one": 1, "specific-one": 1, "two": 2, "specific": 2, "lean": 2, "specific-three": 3}  # of RUNS, the first
RATE = re.compile(r"\b(initial_)?lr\b")


class Script:
    """One healthy script, and, if it is that of a bug, what breaks it."""

    def __init__(self, name, healthy, is_bug, entry):
        self.name, self.healthy, self.is_bug, self.entry = name, healthy, is_bug, entry
        self.expect, self.folder = entry.get("expect"), healthy.parent
        self.kind = entry.get("class", "healthy")

    def arguments(self, run):
        """The options of a healthy run: a seed, half the learning rate, more steps than the script declares."""
        if run == "default":
            return []
        seed = ["--seed", str(SEEDS[run])]
        if run == "other" and (rate := self.default_of("--lr", "float")):
            return [*seed, "--lr", f"{float(rate) / 2:g}"]
        if run in LONGER and (steps := self.default_of("--steps", "int")):
            return [*seed, "--steps", str(LONGER[run] * int(steps))]
        return seed

    def default_of(self, option, kind):
        """The default of an option as the script declares it, or None."""
        found = re.search(rf'"{option}", type={kind}, default=([\d.e-]+)', self.healthy.read_text())
        return found and found[1]

    def collect(self, tools, part, healthy_runs):
        """{run: trace folder} of the healthy runs and, if there is one, of the broken one."""
        runs = {run: tools.trace(f"blind/{part}/{self.name}/{run}", self.healthy, self.arguments(run))[0]
                for run in healthy_runs}
        if self.is_bug:
            broken = harness.broken_script(self.folder, tools.work)
            runs["bug"] = tools.trace(f"blind/{part}/{self.name}/bug", broken)[0]
        return runs


def load(folder, part, only):
    if part == "healthy":
        entries = json.loads((folder / "healthy.json").read_text())
        scripts = [Script(n, folder / "healthy" / f"{n}.py", False, e) for n, e in sorted(entries.items())]
    else:
        entries = json.loads((folder / "cases.json").read_text())
        expect = json.loads((folder / "bugs" / "expect.json").read_text())
        scripts = [Script(n, folder / "bugs" / n / "ref.py", True, {**e, "expect": expect[n]}) for n, e in sorted(entries.items())]
    return [s for s in scripts if only in s.name]


def learned_from(mode):
    """The runs that a mode learns from."""
    return RUNS[:LEARNED_FROM[mode]]


def learn(tools, mode, script, runs):
    """The invariants of a mode, and the runs that they were learned from."""
    learned = learned_from(mode)
    if not learned:
        return "@all", ()
    out = tools.work / "invariants" / f"blind-{mode}-{script.name}.jsonl"
    options = {"one": [], "two": [], "lean": ["--specific", "--lean"]}.get(mode, ["--specific"])
    tools.infer([runs[r] for r in learned], out, options)
    return out, learned


def judge(tools, mode, script, runs):
    """What the invariants of a mode say of each run of a script."""
    invariants, learned = learn(tools, mode, script, runs)
    row = {"name": script.name, "class": script.kind, "mode": mode, "alarms": {}}
    for run, trace in runs.items():
        _, violations, findings = tools.check(trace, invariants)
        if run != "bug":  # a changed setting is no alarm: docs/violation-format.md
            violations = [v for v in violations if not v.get("setting")]
        said = [f"{v.get('at', '')} {v['relation']}: {v['expected']}; {v['seen']}" for v in violations]
        if run == "bug":
            broken = harness.broken_script(script.folder, tools.work)
            row |= {"found": bool(violations), "named": harness.how_named(findings, script.expect, script.folder, broken),
                    "case": script.name, "expect": script.expect, "words": harness.words_of(findings[0]) if findings else "",
                    "violations": len(violations), "first": said[:3],
                    "by settings only": bool(violations) and all(v.get("setting") for v in violations)}
        elif violations:
            row["alarms"][run] = said
    row["learned"] = list(learned)
    return row


def unseen_alarms(row):
    """Alarms on runs that were not learned from; that the halved rate is another rate is none."""
    alarms = {run: [s for s in said if run != "other" or not RATE.search(s)] for run, said in row["alarms"].items()}
    return {run: said for run, said in alarms.items() if said and run not in row["learned"]}


def chance(rows):
    n, of = harness.by_chance(rows)
    return f"{100 * n / of:.1f} %" if of else "–"


def bug_tables(rows, modes, runs):
    """Recall by mode, then by class, then by case."""
    rows = [r for r in rows if "found" in r]
    out = ["| learned from | found | of these, healthy runs silent | named | named later | chance | alarm: " + " | ".join(runs) + " |",
           "|---" * (6 + len(runs)) + "|"]
    for mode in modes:
        r = [x for x in rows if x["mode"] == mode]
        alarms = [sum(run in unseen_alarms(x) for x in r) if not r or run not in r[0]["learned"] else "–"
                  for run in runs]
        out += [f"| {mode} | {sum(x['found'] for x in r)} of {len(r)} | "
                f"{sum(x['found'] and not unseen_alarms(x) for x in r)} | {sum(x['named'] == 'first' for x in r)} | "
                f"{sum(x['named'] == 'later' for x in r)} | {chance(r)} | " + " | ".join(map(str, alarms)) + " |"]
    classes = collections.defaultdict(dict)
    for r in rows:
        classes[r["class"]].setdefault(r["mode"], []).append(r)
    out += ["", "| class | bugs | " + " | ".join(modes) + " |", "|---" * (len(modes) + 2) + "|"]
    for name, by_mode in sorted(classes.items()):
        cells = [f"{sum(x['found'] for x in by_mode.get(m, []))}, {sum(x['named'] == 'first' for x in by_mode.get(m, []))} named"
                 for m in modes]
        out += [f"| {name} | {max(map(len, by_mode.values()))} | " + " | ".join(cells) + " |"]
    out += ["", "| case | class | " + " | ".join(modes) + " |", "|---" * (len(modes) + 2) + "|"]
    cases = collections.defaultdict(dict)
    for r in rows:
        cases[r["name"]][r["mode"]] = r
    for name, by_mode in sorted(cases.items(), key=lambda c: (next(iter(c[1].values()))["class"], c[0])):
        cells = [cell(by_mode.get(m)) for m in modes]
        out += [f"| `{name}` | {next(iter(by_mode.values()))['class']} | " + " | ".join(cells) + " |"]
    return out


def cell(row):
    if row is None:
        return "failed"
    said = {"first": "named", "later": "named later", "no": "found"}[row["named"]] if row["found"] else "–"
    alarms = ", ".join(unseen_alarms(row))
    return said + (f" (alarm: {alarms})" if alarms else "")


def healthy_table(rows, modes, runs):
    rows = [r for r in rows if "found" not in r]
    out = ["| learned from | scripts | with an alarm on an unseen run | " + " | ".join(runs) + " |", "|---" * (3 + len(runs)) + "|"]
    for mode in modes:
        r = [x for x in rows if x["mode"] == mode]
        counts = [sum(run in unseen_alarms(x) for x in r) if not r or run not in r[0]["learned"] else "–"
                  for run in runs]
        out += [f"| {mode} | {len(r)} | {sum(bool(unseen_alarms(x)) for x in r)} | " + " | ".join(map(str, counts)) + " |"]
    out += [""]
    for r in rows:
        for run, said in unseen_alarms(r).items():
            out += [f"* `{r['name']}`, {r['mode']}, {run}: {len(said)}; first: {' '.join(said[0].split())[:300]}"]
    return out


def report(rows, modes, runs, failed):
    out = ["# Blind part", "", *(f"* failed: {f}" for f in failed), ""]
    if any("found" in r for r in rows):
        out += ["## Bugs", "", *bug_tables(rows, modes, runs), "", "### Alarms on healthy runs of the cases", ""]
        out += [f"* `{r['name']}`, {r['mode']}, {run}: {len(said)}; first: {' '.join(said[0].split())[:300]}"
                for r in rows if "found" in r for run, said in unseen_alarms(r).items()]
    if any("found" not in r for r in rows):
        out += ["", "## Healthy habits", "", *healthy_table(rows, modes, runs)]
    return "\n".join(out) + "\n"


def tables(folder):
    """What is known of each script of a set."""
    cases, habits = (json.loads((folder / f).read_text()) for f in ("cases.json", "healthy.json"))
    out = ["| bug | class | source | what is wrong | a good check names |", "|---" * 5 + "|"]
    out += [f"| `{n}` | {e['class']} | {e['source']} | {e['wrong']} | {e['names']} |"
            for n, e in sorted(cases.items(), key=lambda x: (x[1]["class"], x[0]))]
    out += ["", "| healthy script | habit | packages |", "|---" * 3 + "|"]
    out += [f"| `{n}` | {e['habit']} | {', '.join(e['packages'])} |" for n, e in sorted(habits.items())]
    return "\n".join(out)


def run():
    p = harness.parser(__doc__)
    p.add_argument("--part", choices=["bugs", "healthy", "both"], default="both")
    p.add_argument("--modes", default=",".join(MODES), help=f"of {','.join(LEARNED_FROM)}")
    p.add_argument("--runs", help=f"healthy runs, of {','.join(RUNS)}; all, if left out, but third if no mode learns from it")
    p.add_argument("--only", default="", help="scripts whose name contains this")
    p.add_argument("-j", "--jobs", type=int, default=1, help="scripts that are traced at a time")
    p.add_argument("--table", action="store_true", help="say what is known of each script, and do nothing else")
    p.add_argument("--set", choices=harness.blind_sets(), default="first", help="the scripts in the folder of that name (default first)")
    args = p.parse_args()
    modes = args.modes.split(",")
    if unknown := [m for m in modes if m not in LEARNED_FROM]:
        p.error(f"--modes: no mode {unknown[0]!r}; there are {', '.join(LEARNED_FROM)}")
    runs = args.runs.split(",") if args.runs else [r for r in RUNS if r != "third" or "specific-three" in modes]
    for mode in modes:
        if lacking := set(learned_from(mode)) - set(runs):
            p.error(f"--modes {mode} learns from the run {' and '.join(sorted(lacking))}, which --runs leaves out")
    folder = HERE / args.set
    if args.table:
        print(tables(folder))
        return 0
    tools = harness.tools(args)
    (tools.work / "invariants").mkdir(exist_ok=True)
    rows, failed = [], []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for part in ("bugs", "healthy") if args.part == "both" else (args.part,):
            scripts = {s.name: s for s in load(folder, part, args.only)}
            traces, more = harness.in_parallel(pool, {n: (s.collect, tools, part, runs) for n, s in scripts.items()})
            verdicts, errors = harness.in_parallel(pool, {(m, n): (judge, tools, m, scripts[n], t)
                                                  for n, t in traces.items() for m in modes})
            failed += more + errors
            rows += verdicts.values()
    text = report(rows, modes, runs, failed)
    (tools.work / "blind.json").write_text(json.dumps(rows, indent=1))
    (tools.work / "blind.md").write_text(text)
    print(text + f"\nreport: {os.path.relpath(tools.work / 'blind.md')}")
    return 1 if failed else 0


if __name__ == "__main__":
    harness.main(run)

# SPDX-License-Identifier: Apache-2.0
