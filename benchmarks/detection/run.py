#!/usr/bin/env python3
"""Which silent bugs are found, and named?

usage: run.py [--bin BUILD/bin] [--python PYTHON] [--work DIR] [--reuse] [--only TEXT] [CASES...]

A case is a folder with ref.py, a healthy script, and bug.py, the same with one to four lines broken, or bug.diff, which makes
it of ref.py; the folder above it holds expect.json: case -> a pattern that a violation which names the cause matches. CASES are
such folders above (default: ../bugs and, where they exist, ../../../shared/cases and cases-libraries).

own      learned from ref.py alone; it, a second run of it and changed ones (--variants) must pass, bug.py must not
own-one  the same with --specific: the facts of this script; a run with another seed and another learning rate must pass,
         but for settings
own-two  learned with --specific from ref.py and from a run of it with another seed; judged as own-one
shipped  nothing is learned: -i @all
pool     learned from the healthy pipelines of ../pipelines, without those that pipelines.json calls kin of the case,
         and never from a case; --with-cases adds the ref.py of the other cases

--device stand-in: each script is traced a second time, with the CPU taken for a device of CUDA whose driver is a stand-in (the
build has it with its tests). What was learned on the CPU judges those traces, too, and has to say the same of them.

found  the check of bug.py has violations   step   of the first one
named  "first": a place of the first finding is a changed line, or its words match the pattern of the case; "later": so with
       another finding; "no": none
chance how often the pattern of a case matches the first finding of another case
alarm  a violation on a healthy run; a changed setting (violation-format.md) is none

Writes DIR/detection.json and DIR/report.md. Exit status 0 if all that was asked was found and named, without alarms.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

# A variant is a change that any healthy script allows: (pattern, replacement) pairs, of which each is applied wherever it
# matches. Scripts that say it in other words have rows in variants.json, literal ones, which take the place of these.
SEEDS = r"(manual_seed|random\.seed|set_seed|seed_everything)\((\d+)"
VARIANTS = {
    "seed": [(SEEDS, lambda m: f"{m[1]}({int(m[2]) + 7}")],
    "lr": [(r"\blr=(\d[\d.e-]*)", lambda m: f"lr={float(m[1]) * 0.5:g}")],
    "width": [(r"(nn\.Linear\(\d+, )(\d+)(\)[^\n]*?nn\.Linear\()\2\b", lambda m: wider(m)),
              (r"\b(dim|width)=(\d+)", lambda m: f"{m[1]}={int(m[2]) * 3 // 2}")],
    "steps": [(r"for (step|epoch) in range\((\d+)\)", lambda m: f"for {m[1]} in range({int(int(m[2]) * 1.5 + 0.5)})")],
}

# Two changes at once, of a run that neither of the runs learned from resembles: another seed than "seed", another rate.
OTHER_SEED = (SEEDS, lambda m: f"{m[1]}({int(m[2]) + 13}")


def wider(match):
    """Two linear layers, and what stands between them, half as wide again."""
    return match[1] + re.sub(rf"\b{match[2]}\b", str(int(match[2]) * 3 // 2), match[0].removeprefix(match[1]))


class Case:
    def __init__(self, folder, expect):
        self.folder, self.name, self.expect = folder, folder.name, expect


def load_cases(folders, only):
    cases = []
    for folder in map(pathlib.Path, folders):
        if not folder.is_dir():
            raise harness.Failed(f"{folder}: no such folder")
        expect = json.loads((folder / "expect.json").read_text())
        names = {p.parent.name for bug in ("bug.py", "bug.diff") for p in folder.glob(f"*/{bug}")}
        cases += [Case((folder / name).resolve(), expect[name]) for name in sorted(names) if only in name]
    if not cases:
        raise harness.Failed("no case to run")
    return cases


def default_cases():
    shared = harness.ROOT.parent / "shared"
    return [p for p in (harness.HERE / "bugs", shared / "cases", shared / "cases-libraries") if p.is_dir()]


def variants_of(case):
    """{variant: text}: ref.py with one thing changed."""
    text, texts = (case.folder / "ref.py").read_text(), {}
    rows = json.loads((pathlib.Path(__file__).parent / "variants.json").read_text()).get(case.name, {})
    for name, changes in VARIANTS.items():
        texts[name] = text
        for pattern, replacement in [(re.escape(old), new) for old, new in rows.get(name, [])] or changes:
            texts[name] = re.sub(pattern, replacement, texts[name])
    texts["other"] = re.sub(*OTHER_SEED, texts["lr"])
    return {name: changed for name, changed in texts.items() if changed != text}


def variant_scripts(tools, case, wanted):
    """{variant: script}: the variants as files."""
    scripts = {}
    for name, text in variants_of(case).items():
        if name not in wanted:
            continue
        scripts[name] = tools.work / "variants" / f"{case.name}_{name}.py"
        scripts[name].parent.mkdir(parents=True, exist_ok=True)
        if not scripts[name].exists() or scripts[name].read_text() != text:
            scripts[name].write_text(text)
    for name in sorted(set(wanted) - scripts.keys()):
        print(f"left out: {case.name} with another {name}: ref.py does not say it in words known here", flush=True)
    return scripts


def collect(tools, case, variants):
    """{what: trace folder} with ref, again, bug, and the variants asked for."""
    scripts = {"ref": case.folder / "ref.py", "again": case.folder / "ref.py", "bug": harness.broken_script(case.folder, tools.work)}
    scripts |= variant_scripts(tools, case, variants)
    return {what: tools.trace(f"cases/{case.name}/{what}", script)[0] for what, script in scripts.items()}


def judge(tools, case, traces, invariants, healthy):
    """What the invariants say of the broken run and of the healthy ones."""
    _, found, findings = tools.check(traces["bug"], invariants)
    broken = harness.broken_script(case.folder, tools.work)
    row = {"case": case.name, "found": bool(found), "violations": len(found),
           "step": min((v["step"] for v in found if v.get("step") is not None), default=None),
           "named": harness.how_named(findings, case.expect, case.folder, broken), "expect": case.expect,
           "words": harness.words_of(findings[0]) if findings else "",
           "first": [f"{v.get('at', '')} {v['relation']}: {v['expected']}; {v['seen']}" for v in found[:3]],
           "alarms": {}}
    for what in healthy:
        violations = tools.check(traces[what], invariants).violations
        alarms = [v for v in violations if not v.get("setting")]
        row["changed"] = row.get("changed", 0) + len(violations) - len(alarms)
        if alarms:
            row["alarms"][what] = [f"{v['relation']}: {v['expected']}; {v['seen']}" for v in alarms]
    return row


def judge_all(tools, case, traces, there, invariants, healthy):
    """Of the traces of the CPU, and of those of the other device, if there are any."""
    yield {"device": "", **judge(tools, case, traces[case.name], invariants, healthy)}
    if case.name in there:
        yield {"device": " stand-in", **judge(tools, case, there[case.name], invariants, healthy)}


def run_own(tools, cases, traces, there):
    for case in cases:
        out = tools.work / "invariants" / f"own-{case.name}.jsonl"
        invariants = tools.infer([traces[case.name]["ref"]], out)
        for row in judge_all(tools, case, traces, there, out, [w for w in traces[case.name] if w != "bug"]):
            yield {"mode": "own", "invariants": len(invariants), **row}


def run_specific(tools, cases, traces, there, mode):
    """Facts of one script, learned from one run of it or from two; judged on a run with another seed and rate."""
    for case in cases:
        have = traces[case.name]
        learned = [have["ref"]] + ([have.get("seed", have["again"])] if mode == "own-two" else [])
        out = tools.work / "invariants" / f"{mode}-{case.name}.jsonl"
        invariants = tools.infer(learned, out, ["--specific"])
        for row in judge_all(tools, case, traces, there, out, ["again", *(w for w in ("other",) if w in have)]):
            yield {"mode": mode, "invariants": len(invariants), **row}


def run_shipped(tools, cases, traces, there):
    for case in cases:
        for row in judge_all(tools, case, traces, there, "@all", ["ref", "again"]):
            yield {"mode": "shipped", "invariants": "", **row}


def run_pool(tools, cases, traces, there, pipelines, with_cases):
    learned = {}
    for case in cases:
        names = [p.name for p in pipelines.values() if case.name not in p.kin]
        others = [c.name for c in cases if with_cases and c is not case]
        key = (*names, *others)
        if key not in learned:
            out = tools.work / "invariants" / f"pool-{len(learned)}.jsonl"
            folders = [pipelines[n].folder for n in names] + [traces[c]["ref"] for c in others]
            learned[key] = out, len(tools.infer(folders, out))
        out, count = learned[key]
        for row in judge_all(tools, case, traces, there, out, ["ref"]):
            yield {"mode": "pool", "invariants": count, "pipelines": len(names) + len(others), **row}


MODES = ("own", "own-one", "own-two", "shipped", "pool")


def line(row):
    alarms = ", ".join(f"{what}: {len(a)}" for what, a in row["alarms"].items()) or "none"
    step = "" if row["step"] is None else row["step"]
    return (row["case"], row["mode"] + row["device"], row["invariants"], "yes" if row["found"] else "no", step, row["named"], alarms)


HEAD = ("case", "learned from", "invariants", "found", "first step", "named", "alarms on healthy runs")


JUDGED = "found", "violations", "step", "named", "first", "alarms", "changed"


def unlike(rows):
    """Rows of the stand-in that do not say what those of the CPU say; how many there are of the stand-in."""
    on_cpu = {(r["case"], r["mode"]): r for r in rows if not r["device"]}
    others = [r for r in rows if r["device"]]
    return [r for r in others if any(r[key] != on_cpu[r["case"], r["mode"]][key] for key in JUDGED)], len(others)


def chance(rows):
    n, of = harness.by_chance(rows)
    return f"{n} of {of}"


def totals(rows):
    different, n_others = unlike(rows)
    if n_others:
        yield (f"stand-in: {n_others - len(different)} of {n_others} rows say what those of the CPU say"
               + "".join(f"; {r['case']} {r['mode']} does not" for r in different))
    for mode, device in ((m, d) for m in MODES for d in ("", " stand-in")):
        r = [x for x in rows if x["mode"] == mode and x["device"] == device]
        if r:
            yield (f"{mode}{device}: {sum(x['found'] for x in r)} of {len(r)} found, "
                   f"{sum(x['named'] == 'first' for x in r)} named by the first finding (chance: {chance(r)}), "
                   f"{sum(bool(x['alarms']) for x in r)} with an alarm on a healthy run")


def markdown(rows, failed):
    out = ["# Detection", "", *(f"* {t}" for t in totals(rows)), *(f"* failed: {f}" for f in failed), "",
           "| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    out += ["| " + " | ".join(map(str, line(r))) + " |" for r in rows]
    out += ["", "## First violations, and alarms", ""]
    for r in rows:
        out += [f"* **{r['case']}**, {r['mode']}{r['device']}"]
        out += [f"    * {' '.join(v.split())}" for v in r["first"]]
        out += [f"    * alarm on {what}: {' '.join(a.split())}" for what, alarms in r["alarms"].items() for a in alarms[:5]]
    return "\n".join(out) + "\n"


def run():
    p = harness.parser(__doc__)
    p.add_argument("--mode", choices=[*MODES, "both"], nargs="+", default=["both"], help="both: own and pool")
    p.add_argument("--only", default="", help="cases whose name contains this")
    p.add_argument("--variants", action="store_true", help="also check healthy scripts with another seed, lr, width, length")
    p.add_argument("--with-cases", action="store_true", help="learn from the healthy scripts of other cases, too")
    p.add_argument("--device", choices=["stand-in"], help="also judge traces of a device that stands in for one of CUDA")
    p.add_argument("-j", "--jobs", type=int, default=1, help="scripts that are traced at a time")
    p.add_argument("cases", nargs="*", metavar="CASES")
    args = p.parse_args()
    tools, cases = harness.tools(args), load_cases(args.cases or default_cases(), args.only)
    others = harness.Tools(args.bin, args.python, args.work, args.reuse, tools.collect, args.device) if args.device else None
    (tools.work / "invariants").mkdir(exist_ok=True)

    modes = [m for m in MODES if m in args.mode or ("both" in args.mode and m in ("own", "pool"))]
    variants = [*VARIANTS] if args.variants else []
    variants += ["seed", "other"] if {"own-one", "own-two"} & set(modes) else []
    rows, pipelines = [], harness.pipelines() if "pool" in modes else {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        traces, failed = harness.in_parallel(pool, {c.name: (collect, tools, c, variants) for c in cases})
        there, more = harness.in_parallel(pool, {c.name: (collect, others, c, variants) for c in cases if others})
        failed += more
        folders, more = harness.in_parallel(pool, {n: (tools.trace_pipeline, pipe) for n, pipe in pipelines.items()})
    failed += more
    cases = [c for c in cases if c.name in traces]
    pipelines = {n: pipelines[n] for n in folders}
    for name, (folder, _) in folders.items():
        pipelines[name].folder = folder

    runs = [run_own(tools, cases, traces, there)] if "own" in modes else []
    runs += [run_specific(tools, cases, traces, there, m) for m in modes if m in ("own-one", "own-two")]
    runs += [run_shipped(tools, cases, traces, there)] if "shipped" in modes else []
    runs += [run_pool(tools, cases, traces, there, pipelines, args.with_cases)] if "pool" in modes else []
    layout = "{:34} {:16} {!s:>10}  {:5} {:>10}  {:6} {}"
    print(layout.format(*HEAD))
    for generator in runs:
        for row in generator:
            rows.append(row)
            print(layout.format(*map(str, line(row))), flush=True)
    print(*totals(rows), sep="\n")
    (tools.work / "detection.json").write_text(json.dumps(rows, indent=1))
    (tools.work / "report.md").write_text(markdown(rows, failed))
    print(f"report: {os.path.relpath(tools.work / 'report.md')}")
    return 1 if failed or unlike(rows)[0] or any(r["alarms"] or r["named"] != "first" for r in rows) else 0


if __name__ == "__main__":
    harness.main(run)

# SPDX-License-Identifier: Apache-2.0
