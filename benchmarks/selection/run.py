#!/usr/bin/env python3
"""Does a selective trace give the verdicts of a full one?

usage: run.py [--bin BUILD/bin] [--python PYTHON] [--work DIR] [--reuse] [--specific] [NAME...]

For each pipeline of ../pipelines and each case of ../bugs (or those named): invariants X are learned from a full trace of the healthy
script; then the pipeline, or the case's bug.py, is traced once fully and once with -i X, and both traces are checked
with X. Every verdict has to be the same. --specific learns the facts of the script, those of content among them.

Prints what differs, as "ID relation: full verdict, selective verdict: the claim", and a line of totals. Exit status 1 if
anything differs.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

BUGS = pathlib.Path(__file__).resolve().parent.parent / "bugs"


class Subject:
    """A healthy script, and the script whose two traces are compared."""

    def __init__(self, name, healthy, judged, launcher=None, ranks=1):
        self.name, self.healthy, self.judged = name, healthy, judged
        self.launcher, self.ranks = launcher, ranks


def subjects(names):
    """Those named, or all."""
    found = [Subject(p.name, p.script, p.script, p.launcher, p.ranks) for p in harness.pipelines().values()]
    found += [Subject(f.name, f / "ref.py", f / "bug.py") for f in sorted(BUGS.iterdir()) if (f / "bug.py").exists()]
    unknown = set(names) - {s.name for s in found}
    if unknown:
        raise harness.Failed(f"no such pipeline or case: {', '.join(sorted(unknown))}")
    return [s for s in found if not names or s.name in names]


def by_id(verdicts):
    return {i: verdict for verdict, ids in verdicts.items() for i in ids}


def compare(tools, subject, options):
    """(invariants, [(id, full verdict, selective verdict)])"""
    out = tools.work / "invariants" / f"selection-{subject.name}.jsonl"
    how = {"launcher": subject.launcher, "ranks": subject.ranks}
    healthy, _ = tools.trace(f"{subject.name}.healthy", subject.healthy, **how)
    invariants = {i["id"]: i for i in tools.infer([healthy], out, options)}
    full, _ = tools.trace(f"{subject.name}.full", subject.judged, **how)
    selective, _ = tools.trace(f"{subject.name}.selective", subject.judged, invariants=out, **how)
    a, b = (by_id(tools.check(trace, out).verdicts) for trace in (full, selective))
    return invariants, [(i, a.get(i), b.get(i)) for i in sorted(a.keys() | b.keys()) if a.get(i) != b.get(i)]


def run():
    p = harness.parser(__doc__)
    p.add_argument("--specific", action="store_true", help="the facts of each script, too")
    p.add_argument("names", nargs="*", metavar="NAME", help="pipelines and cases (default all)")
    args = p.parse_args()
    tools = harness.tools(args)
    (tools.work / "invariants").mkdir(exist_ok=True)
    n_compared = n_invariants = n_different = 0
    for subject in subjects(args.names):
        try:
            invariants, different = compare(tools, subject, ["--specific"] if args.specific else [])
        except harness.Failed as e:
            print(f"left out: {subject.name}: {e}", flush=True)
            continue
        n_compared, n_invariants, n_different = n_compared + 1, n_invariants + len(invariants), n_different + len(different)
        for i, full, selective in different:
            print(f"{subject.name}: {i} {invariants[i]['relation']}: {full}, {selective}: {invariants[i]['text']}", flush=True)
    print(f"selection: {n_different} of {n_invariants} verdicts differ, {n_compared} scripts")
    return 1 if n_different or not n_compared else 0


if __name__ == "__main__":
    harness.main(run)

# SPDX-License-Identifier: Apache-2.0
