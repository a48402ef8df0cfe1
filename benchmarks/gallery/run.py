#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/gallery.md: the rebuilt bugs, each with its report as traincheck-check prints it.

usage: run.py [--bin BUILD/bin] [--python PYTHON] [--work DIR] [--only TEXT] [--missing] [--write]

For each case of ../bugs and ../osdi: trace ref.py and a run of it with another seed, learn with --specific, trace bug.py,
check it. All are copied to DIR/gallery/CASE and have the name train.py there, as a user has one script that is edited.
The report is kept as DIR/gallery/CASE.json; --write makes the page of all that are kept and traces nothing.
The first finding of each report is shown, at most LINES lines of it.
"""

import difflib
import json
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402

PAGE = harness.ROOT / "docs" / "gallery.md"
FOLDERS = ("bugs", "osdi")
LINES = 22

HEAD = """# Gallery of bugs

Each bug was reported against a real project, and is rebuilt here in a few dozen lines. Each
script runs to its end and exits with 0. No exception tells of the bug.

For each, two healthy runs with different seeds taught the invariants (`traincheck-infer
--specific`). The block below the change is what `traincheck-check` printed for the broken run:
its first finding, cut after {lines} lines. [Reading a finding](reading.md) says what its parts mean.

`benchmarks/gallery/run.py` made this page from real runs. Nothing in it is typed by hand. The build
was that of {builds}.

How many bugs are found that nobody had in mind while the tool was written: see [What is
found](detection.md). This page shows cases that the tool was developed with.
"""


def cases(only=""):
    return [p.parent for folder in FOLDERS for p in sorted((HERE.parent / folder).glob("*/bug.py")) if only in p.parent.name]


def described():
    """{case: (report, what is wrong)} of the tables of the READMEs."""
    rows = {}
    for folder in FOLDERS:
        for line in (HERE.parent / folder / "README.md").read_text().splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if folder == "bugs" and len(cells) == 5 and cells[0].startswith("`"):
                rows[cells[0].strip("`")] = (cells[1], cells[2])
            elif folder == "osdi" and len(cells) == 6 and re.fullmatch(r"`\w+`", cells[2]):
                rows[cells[2].strip("`")] = (cells[0], cells[1])
    return rows


def change(folder):
    """What makes ref.py wrong, as a diff; what the scripts say of themselves is left out."""
    lines = [(folder / name).read_text().splitlines() for name in ("ref.py", "bug.py")]
    diff = difflib.unified_diff(*lines, n=1, lineterm="")
    return [line for line in list(diff)[2:] if not line.startswith("@@")]


def report_of(tools, folder):
    """Trace the case; what the check printed, how many findings there were, and of which build."""
    detection = harness.runner("detection")
    texts = {"ref": (folder / "ref.py").read_text(), "bug": (folder / "bug.py").read_text()}
    texts["seed"] = detection.variants_of(detection.Case(folder, "")).get("seed", texts["ref"])
    work, traces = tools.work / "gallery" / folder.name, {}
    for what, text in texts.items():
        script = harness.write_if_other(work / what / "train.py", text.encode())
        traces[what], _ = tools.trace(f"gallery/{folder.name}/{what}", script, cwd=script.parent)
    tools.infer([traces["ref"], traces["seed"]], work / "invariants.jsonl", ("--specific",))
    p = tools.run(tools.bin / "traincheck-check", traces["bug"], "-i", work / "invariants.jsonl", "-o", work / "report", ok=(0, 1))
    counts = json.loads((work / "report" / "violations_summary.json").read_text())["counts"]
    return {"text": p.stdout, "findings": counts["findings"], "failed": counts["failed"], "commit": harness.runner("diagnosis").commit_of(tools.bin)}


def section(folder, report, what):
    source, wrong = what
    lines = report["text"].rstrip().split("\n\n")[0].splitlines()
    if len(lines) > LINES:
        lines = [*lines[:LINES], "  ..."]
    rest = report["findings"] - 1
    return "\n".join([
        f"\n## {folder.name}\n", textwrap.fill(f"*{source}*: {wrong}.", 98) + "\n",
        *(f"    {line}".rstrip() for line in change(folder)), "\nThe report:\n",
        *(f"    {line}".rstrip() for line in lines),
        *([f"\n{rest} more finding{'' if rest == 1 else 's'} follow{'s' if rest == 1 else ''}."] if rest else []), ""])


def write(kept, rows):
    """The page says which cases it lacks, rather than look complete."""
    reports = {folder: json.loads(file.read_text()) for folder in cases() if (file := kept / f"{folder.name}.json").exists()}
    builds = " and ".join(f"`{commit}`" for commit in sorted({report["commit"] for report in reports.values()}))
    text = HEAD.format(lines=LINES, builds=f"commit {builds}")
    text += "".join(section(folder, report, rows[folder.name]) for folder, report in reports.items())
    lacking = [folder.name for folder in cases() if folder not in reports]
    if lacking:
        text += "\n## Not shown yet\n\nThese are rebuilt, too. `benchmarks/gallery/run.py --missing` traces them.\n\n"
        text += "".join(textwrap.fill(f"* `{name}`: {rows[name][1]}", 98, subsequent_indent="  ") + "\n" for name in lacking)
    PAGE.write_text(text)


def main():
    parser = harness.parser(__doc__)
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--missing", action="store_true", help="only cases of which no report is kept")
    parser.add_argument("--write", action="store_true", help="only make the page of the reports that are kept")
    args = parser.parse_args()
    kept = pathlib.Path(args.work).resolve() / "gallery"
    if args.write:
        write(kept, described())
        return 0
    tools = harness.tools(args)
    for folder in cases(args.only):
        file = kept / f"{folder.name}.json"
        if args.missing and file.exists():
            continue
        report = report_of(tools, folder)
        file.write_text(json.dumps(report))
        print(f"{folder.name}: {report['failed']} invariants failed, {report['findings']} findings", flush=True)
    return 0


if __name__ == "__main__":
    harness.main(main)
