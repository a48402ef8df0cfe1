#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn from traces written by hand and check others by what was learned.

usage: run.py --bin BUILD/bin [-j N] [--only WORD] [--keep DIR] [--update] [CASE|FORM...]

A case is a folder FORM/CASE below this one; EventContain_some stands for the
relation EventContain/some. Its case.py writes traces with trace_writer.py:

  healthy*(folder)    a pipeline to learn from; must be silent when checked.
                      With PIPELINES = n: healthy(folder, i) for each i < n
  fine*(folder)       not learned from, but must be silent too
  broken(folder)      must raise what expected_violations says; may be absent
  OPTIONS             more arguments of traincheck-infer
  RULE = True         judged by what the shipped sets of rules say of the form, of which nothing is learned

Beside it stand, written by hand from docs/relations.md:

  expected_invariants      all sentences of the form, sorted
  expected_violations      at, step, count, relation, sentence of each (tabs);
                           those of one call in alphabetical order. A missing
                           file says that broken raises none
  expected_failed          optional: why, where it broke (* for anywhere) and
                           sentence of each hypothesis that was dropped, sorted
                           by the first and the last
  expected_not_triggered   optional: why and sentence, sorted, of the invariants
                           that said nothing about broken
"""

import argparse
import concurrent.futures
import difflib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

import invariant_file

HERE = pathlib.Path(__file__).resolve().parent
INVARIANTS = HERE.parents[1] / "invariants"


class Failure(Exception):
    pass


def load(case):
    spec = importlib.util.spec_from_file_location("case", case / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_traces(module, work):
    """Folders of traces by kind: healthy, fine, broken."""
    traces = {"healthy": [], "fine": [], "broken": []}
    n = getattr(module, "PIPELINES", None)
    for name, function in vars(module).items():
        kind = next((k for k in traces if name == k or name.startswith(k + "_")), None)
        if kind == "healthy" and n:
            for i in range(n):
                function(work / f"{name}_{i}", i)
                traces[kind].append(work / f"{name}_{i}")
        elif kind:
            function(work / name)
            traces[kind].append(work / name)
    return traces


def run_tool(tool, *args, codes=(0,)):
    p = subprocess.run([str(tool), *map(str, args)], capture_output=True, text=True, errors="replace", timeout=120)
    if p.returncode not in codes:
        raise Failure(f"$ {' '.join([tool.name, *map(str, args)])}\n"
                      f"exit status {p.returncode}, not {' or '.join(map(str, codes))}\n{p.stdout}{p.stderr}")
    return p


def json_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def in_reading_order(violations):
    """As lines. Which of two violations of one call comes first means nothing."""
    lines, group, last = [], [], None
    for v in violations:
        place = (v.get("at"), v["step"], v.get("call"))
        if place != last:
            lines += sorted(group)
            group, last = [], place
        group.append("\t".join([v.get("at", "-"), str(v["step"]), str(v["count"]), v["relation"], v["expected"]]))
    return lines + sorted(group)


def with_wildcard(line, want):
    """The line as it is, or as one that is wanted with * in place of its second part."""
    parts = line.split("\t")
    anywhere = "\t".join([parts[0], "*", *parts[2:]])
    return anywhere if anywhere in want else line


def compare(case, name, got, update=False, is_optional=True):
    """Lines of a difference to the file of expectations, which may be absent; with update the file is written anew."""
    file = case / name
    if is_optional and not file.exists():
        return []
    if update:
        file.write_text("".join(f"{line}\n" for line in got), encoding="utf-8")
    want = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    got = [with_wildcard(line, want) for line in got]
    return list(difflib.unified_diff(want, got, f"expected: {name}", f"got: {name}", lineterm=""))


def learn(bin_dir, relation, traces, options, work):
    invariants, failed = work / "invariants.jsonl", work / "failed.jsonl"
    run_tool(bin_dir / "traincheck-infer", "-q", "--enable-relation", relation, "-o", invariants, "--failed", failed,
             *options, *traces)
    return invariants, failed


def invariants_of(module, relation, healthy, bin_dir, work):
    """What the broken traces of a case are judged by, and the hypotheses that were dropped: files."""
    if getattr(module, "RULE", False):
        return shipped(relation, work)
    return learn(bin_dir, relation, healthy, getattr(module, "OPTIONS", []), work)


def shipped(relation, work):
    """What the sets of rules say of one form."""
    names = json.loads((INVARIANTS / "sets.json").read_text(encoding="utf-8"))["rules"]
    head, *lines = [line for name in names for line in (INVARIANTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    invariants, failed = work / "invariants.jsonl", work / "failed.jsonl"
    work.mkdir(parents=True, exist_ok=True)
    invariants.write_text("\n".join([head, *(x for x in lines if json.loads(x).get("relation") == relation)]) + "\n", encoding="utf-8")
    failed.write_text("", encoding="utf-8")
    return invariants, failed


def run_case(case, bin_dir, work, update=False):
    module = load(case)
    relation = case.parent.name.replace("_", "/")
    traces = write_traces(module, work)
    invariants, failed = invariants_of(module, relation, traces["healthy"], bin_dir, work)
    lines = compare(case, "expected_invariants", sorted(x["text"] for x in invariant_file.read(invariants) if "relation" in x), update)
    dropped = sorted(json_lines(failed), key=lambda x: (x["why"], x["text"]))
    lines += compare(case, "expected_failed", ["\t".join([x["why"], x.get("broken_at", "-"), x["text"]])
                                               for x in dropped])
    found = check(bin_dir, sum(traces.values(), []), invariants, work)
    for trace in traces["healthy"] + traces["fine"]:
        got = in_reading_order(found[trace])
        lines += difflib.unified_diff([], got, "expected: silence", f"got: {trace.name}", lineterm="")
    for trace in traces["broken"]:
        lines += compare(case, "expected_violations", in_reading_order(found[trace]), is_optional=False)
        not_triggered = json_lines(work / "checks" / trace.name / "not_triggered.log")
        lines += compare(case, "expected_not_triggered", sorted(f"{x['why']}\t{x['text']}" for x in not_triggered), update)
    return lines


def check(bin_dir, traces, invariants, work):
    """{trace: its violations}, each checked by itself, in one process; reports go to work/checks/TRACE."""
    output = work / "checks"
    run_tool(bin_dir / "traincheck-check", "-q", "--each", "-j", 1, "--no-html-report", "--fail-on", "remark", *traces, "-i", invariants,
             "-o", output, codes=(0, 1, 3))
    status = {of_run["run"]: of_run["status"] for of_run in json_lines(output / "runs.jsonl")}
    found = {}
    for trace in traces:
        found[trace] = json_lines(output / trace.name / "violations.jsonl")
        if (status[str(trace)] == 1) != bool(found[trace]):  # 3: none of them was judged
            raise Failure(f"{trace.name}: {len(found[trace])} violations, but exit status {status[str(trace)]}")
    return found


def complaints(case, bin_dir, keep, update):
    """What is wrong with the case, as lines. Whatever it raises is its own failure: the other cases are run."""
    with tempfile.TemporaryDirectory() as scratch:
        work = keep / case.relative_to(HERE) if keep else pathlib.Path(scratch)
        try:
            return run_case(case, bin_dir, work, update)
        except Failure as e:
            return [str(e)]
        except Exception:
            return [traceback.format_exc()]


def cases_below(folder):
    folder = pathlib.Path(folder).resolve()
    return [folder] if (folder / "case.py").exists() else sorted(f.parent for f in folder.glob("**/case.py"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="where the tools are")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="cases at once (default: one a core)")
    parser.add_argument("--only", default="", help="only cases with this word in their path")
    parser.add_argument("--keep", type=pathlib.Path, help="leave traces and reports there")
    parser.add_argument("--update", action="store_true",
                        help="after a new claim: rewrite expected_invariants and expected_not_triggered; review the difference")
    parser.add_argument("cases", nargs="*", default=[HERE])
    args = parser.parse_args()
    cases = [c for folder in args.cases for c in cases_below(folder) if args.only in str(c.relative_to(HERE))]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        found = pool.map(lambda case: complaints(case, args.bin.resolve(), args.keep, args.update), cases)
        for case, lines in zip(cases, found):
            if lines:
                failed += 1
                print(f"{case.relative_to(HERE)}:", *lines, sep="\n", flush=True)
    print(f"{len(cases)} cases, {failed} failed")
    sys.exit(failed > 0 or not cases)


if __name__ == "__main__":
    main()
