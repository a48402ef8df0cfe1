#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do two builds make the same invariants, evidence, verdicts and reports, byte for byte?

usage: run.py --before OTHER/bin [--bin BUILD/bin] [--invariants FILE|@NAME]... [--together N]... [-j N]
              [--work DIR [--python PYTHON]] [--renamed OLD=NEW]... [FOLDER...]

Each FOLDER holds traces, a folder for each, at any depth, as invariants/regenerate.sh, ../detection, ../blind and ../selection leave
them in WORK/traces. Without one, the traces of tests/relations are written and taken. --work takes those of all pipelines of
../pipelines and of all bugs that ../detection knows, and collects into DIR/traces, once, what is not there. Of each trace both builds
learn invariants (plain, --specific, and as evidence) and check it with the --invariants (default @all) and, where the traces of a
healthy script NAME and of another one NAME.* or NAME+* stand side by side, or one is called default or ref, by what was learned from
that. Then --together N (default 2, 5 and all) healthy traces at a time are learned from. All that they write and print is compared.
Evidence that differs is compared as this build reads it and writes it again: an older schema has other words for the same.
--renamed says so of what a check writes: an item or a key OLD of the other build is read as NEW, whatever the two schemas.

Prints each file that differs with its first different line of both, and a line of totals. Exit status 1 if anything differs.
"""

import argparse
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import harness  # noqa: E402

# What a report says of the moment at which it was made.
MOMENT = re.compile(rb"\d{4}-\d\d-\d\d[T _]\d\d[:-]\d\d[:-]\d\d(\.\d+)?Z?|\b\d+(\.\d+)? (ms|s|[kM]B/s)\b")


class Failed(Exception):
    """What keeps the comparison from being made."""


def traces_in(folders):
    """{name: folder} of all folders that hold a trace file; the name is the way to it."""
    found = {}
    for folder in map(pathlib.Path, folders):
        for at in sorted({file.parent for file in folder.rglob("trace_*.jsonl*")}):
            found[str(at.relative_to(folder))] = at.resolve()
    if not found:
        raise Failed(f"no traces in {', '.join(map(str, folders))}")
    return found


def healthy_of(name, names):
    """The trace whose invariants judge this one: of the longest name that this one goes on from, or the healthy one beside it;
    itself where there is none."""
    folder, _, last = name.rpartition("/")
    stem = re.split(r"[.+]", last)[0]
    wanted = [stem, f"{stem}.healthy", f"{stem}.ref"] + (["default", "ref", "healthy", "healthy_0"] if folder else [])
    kin = [f"{folder}/{w}" if folder else w for w in wanted]
    return next((k for k in kin if k != name and k in names), name)


def write_relations(work):
    """The traces that the cases of tests/relations are made of, a folder for each."""
    tests = ROOT / "tests" / "relations"
    sys.path.insert(0, str(tests))
    cases = harness.load("relations_run", tests / "run.py")
    for script in sorted(tests.glob("*/*/case.py")):
        folder = work / script.parent.parent.name / script.parent.name
        folder.mkdir(parents=True)
        cases.write_traces(cases.load(script.parent), folder)


def collect_all(args):
    """The traces of all pipelines, and of both halves of all bugs, below args.work; those that are there are kept."""
    detection = harness.runner("detection")
    tools = harness.Tools(args.bin, args.python, args.work, reuse=True)
    for pipeline in harness.pipelines().values():
        tools.trace_pipeline(pipeline)
    for case in detection.load_cases(detection.default_cases(), ""):
        for half in ("ref", "bug"):
            tools.trace(f"cases/{case.name}/{half}", case.folder / f"{half}.py")
    return args.work / "traces"


def groups_of(traces, sizes):
    """(name, traces) of those to be learned from together: the healthy ones, so many at a time; 0 is all."""
    healthy = sorted({healthy_of(name, traces) for name in traces})
    for size in sizes:
        size = size or len(healthy)
        for i in range(0, len(healthy) - size + 1, size):
            yield f"{size} together, {healthy[i]} first", [traces[name] for name in healthy[i:i + size]]


def commands(tools, trace, healthy, sets):
    """What one build is asked of one trace; all output goes below the current folder."""
    infer, check = tools / "traincheck-infer", tools / "traincheck-check"
    yield [infer, healthy, "-o", "own.jsonl", "--failed", "failed.jsonl", "-j1"]
    yield [infer, healthy, "--specific", "-o", "specific.jsonl", "--profile", "profile.txt", "-j1"]
    yield [infer, healthy, "--evidence", "evidence.tce", "-j1"]
    for given in ["own.jsonl", "specific.jsonl", *sets]:
        out = "check-" + re.sub(r"\W", "", str(given))
        yield [check, trace, "-i", given, "-o", out, "--json", "--format", "sarif,junit,chrome", "--metrics", f"{out}.metrics", "-j1"]


def commands_together(tools, traces):
    yield [tools / "traincheck-infer", *traces, "-o", "own.jsonl", "--failed", "failed.jsonl", "-j1"]


def run_all(asked, folder):
    """{name: bytes} of everything that the build wrote and printed."""
    found = {}
    for i, command in enumerate(asked):
        p = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=600)
        found[f"{i}-{command[0].name}.printed"] = b"exit status %d\n" % p.returncode + p.stdout + p.stderr
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            found[str(file.relative_to(folder))] = file.read_bytes()
    return {name: MOMENT.sub(b"TIME", data) for name, data in found.items()}


def first_difference(a, b):
    lines = itertools.zip_longest(a.splitlines(), b.splitlines())
    at, (x, y) = next((i, pair) for i, pair in enumerate(lines, 1) if pair[0] != pair[1])
    return f"line {at}\n    before: {show(x)}\n    after:  {show(y)}"


def show(line):
    return "(none)" if line is None else line[:200].decode(errors="replace")


def rewrite_evidence(tools, folder, files, others):
    """Evidence among the files that differs from that of the others, as the tools read it and write it again."""
    for name in [n for n in files.keys() & others.keys() if n.endswith(".tce") and files[n] != others[n]]:
        (folder / name).write_bytes(files[name])
        p = subprocess.run([tools / "traincheck-infer", name, "--evidence", name, "-q"], cwd=folder, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=600)
        files[name] = (folder / name).read_bytes() if p.returncode == 0 else p.stderr


def rename(files, renamed):
    """Words that are items or keys, also of JSON in JSON, and the schema, of all files but evidence."""
    for name in [n for n in files if renamed and not n.endswith(".tce")]:
        files[name] = re.sub(rb'("schema\\?": ?)\d+', rb"\1N", files[name])
        for old, new in renamed:
            files[name] = re.sub(rb'(?<=[\[,{])(\\?")' + re.escape(old) + rb'(\\?"[],:])', rb"\1" + new + rb"\2", files[name])


def compare(builds, renamed, commands_of, *args):
    """(files compared, what differs as lines of text); commands_of(tools, *args) are asked of both builds."""
    with tempfile.TemporaryDirectory(prefix="tc-identity-") as work:
        made = []
        for tools in builds:
            folder = pathlib.Path(work) / "here"  # one name for both: it stands in what they print
            folder.mkdir()
            made.append(run_all(commands_of(tools, *args), folder))
            shutil.rmtree(folder)
        before, after = made
        rename(before, renamed)
        rename(after, [(new, new) for _, new in renamed])
        rewrite_evidence(builds[1], pathlib.Path(work), before, after)
    said = [f"{name}: only {'before' if name in before else 'after'}" for name in sorted(before.keys() ^ after.keys())]
    said += [f"{name}: {first_difference(before[name], after[name])}"
             for name in sorted(before.keys() & after.keys()) if before[name] != after[name]]
    return len(before.keys() & after.keys()), said


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n", 2)[2],
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--before", required=True, type=pathlib.Path, help="the tools of the other build")
    p.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin", help="the tools of this one (default build/bin)")
    p.add_argument("--invariants", action="append", default=[], help="also check with these (default @all)")
    p.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="traces at once (default all cores)")
    p.add_argument("--together", action="append", type=int, default=[], metavar="N", help="0: all (default 2, 5 and all)")
    p.add_argument("--work", type=pathlib.Path, metavar="DIR", help="take, or collect, the traces of all pipelines and bugs")
    p.add_argument("--python", default=sys.executable, help="an interpreter with torch, to collect (default: this one)")
    p.add_argument("--renamed", action="append", default=[], metavar="OLD=NEW", help="a word of reports that has another name now")
    p.add_argument("folders", nargs="*", metavar="FOLDER")
    args = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="tc-identity-") as work:
        folders = args.folders + ([collect_all(args)] if args.work else [])
        if not folders:
            write_relations(pathlib.Path(work))
        return run(args, folders or [work])


def run(args, folders):
    builds = [b.resolve() for b in (args.before, args.bin)]
    renamed = [tuple(pair.encode().split(b"=", 1)) for pair in args.renamed]
    sets = [s if s.startswith("@") else str(pathlib.Path(s).resolve()) for s in args.invariants] or ["@all"]
    traces = traces_in(folders)
    n_files = n_different = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = {name: pool.submit(compare, builds, renamed, commands, trace, traces[healthy_of(name, traces)], sets)
                for name, trace in traces.items()}
        groups = list(groups_of(traces, args.together or [2, 5, 0]))
        jobs |= {name: pool.submit(compare, builds, renamed, commands_together, some) for name, some in groups}
        for name, job in jobs.items():
            n, said = job.result()
            n_files, n_different = n_files + n, n_different + len(said)
            for text in said:
                print(f"{name}: {text}", flush=True)
    print(f"identity: {n_different} of {n_files} outputs differ, {len(traces)} traces, {len(groups)} learned from together")
    return 1 if n_different else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, harness.Failed, OSError) as e:
        sys.exit(f"identity: {e}")
