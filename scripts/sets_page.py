#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/sets.md: what each shipped set holds, and why.

usage: sets_page.py [--check]

--check writes nothing, and exits with 1 if the page is not what the sets say.

Rules stand by the subjects of invariants/sets.json, with what is wrong otherwise and who reported it, as the table of
invariants/README.md says. What was learned stands with the pipelines that carry it.
"""
import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "sets.md"

HEAD = """# What the shipped sets hold

<!-- written by scripts/sets_page.py -->

`@all` takes the sets for what a run imports and does, and prints which
([Shipped sets](invariant-format.md#shipped-sets)). A rule is known: no right script breaks it. A
learned claim held in many healthy pipelines, and broke in none. `invariants/README.md` says how
both were made.
"""


def read_set(name):
    """The runs that a set is for, and its invariants."""
    head, *lines = (ROOT / "invariants" / f"{name}.jsonl").read_text().splitlines()
    return json.loads(head)["for"], [json.loads(line) for line in lines]


def reasons():
    """Of each rule: what is wrong otherwise, and the reports."""
    rows = re.findall(r"(?m)^\| `(\w+/\w+)` \| (.*?) \| (.*?) \| [\w ]+ \|$", (ROOT / "invariants" / "README.md").read_text())
    return {name: (why, told) for name, why, told in rows}


def runs(of):
    many = " in several processes" if of.get("processes") == "many" else ""
    met = ", and do some of what it speaks of" if of.get("met") else ""
    return f"For runs that import {' or '.join(of['packages'])}{many}{met}."


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows)]


def of_engines(of, learned_sets):
    """What was learned of a package that has rules of its own: the claims that name it, which stand in other sets."""
    rows = [[f"`{item['relation']}`", item["text"], f"`@{name}`"] for name in learned_sets for item in read_set(name)[1]
            if any(param.get("call", "").startswith(f"{package}.") for param in item["params"] for package in of["packages"] if package != "torch")]
    head = ["relation", "what it says", "set"]
    return ["Of what was learned these speak of it. What holds in any training is said of its runs, too.", "", *table(head, rows), ""] if rows else []


def rules(names, subjects, learned_sets):
    """The sets of rules, each with its subjects."""
    why = reasons()
    lines, met = [], set()
    for name in names:
        of, items = read_set(name)
        lines += [f"## @{name}", "", runs(of), "", "By hand, each with a case of `tests/relations` and public reports.", ""]
        texts = {}
        for item in items:
            texts.setdefault(item["relation"], []).append(item["text"])
        met |= set(texts)
        for subject, forms in subjects.items():
            rows = [[f"`{form}`", texts[form][0] + (f", and {len(texts[form]) - 1} more" if len(texts[form]) > 1 else ""), *why[form]]
                    for form in forms if form in texts]
            if rows:
                lines += [f"### {subject.capitalize()}", "", *table(["rule", "what it says", "what is wrong otherwise", "reported"], rows), ""]
        lines += of_engines(of, learned_sets)
    missing = met ^ {form for forms in subjects.values() for form in forms}
    if missing:
        sys.exit(f"sets_page.py: invariants/sets.json and the sets of rules differ in {', '.join(sorted(missing))}")
    return lines


def learned(name):
    of, items = read_set(name)
    rows = [[f"`{item['relation']}`", item["text"].replace("|", "\\|"), str(item["evidence"]["pipelines"]), str(item["evidence"]["held"])]
            for item in items]
    return [f"## @{name}", "", runs(of), "", *table(["relation", "what it says", "pipelines", "occasions"], rows), ""]


def left_out(reasons):
    lines = ["## Left out", "", "Learned as well, and in no set, as a right script may break it.", ""]
    return [*lines, *table(["what it says", "why it is left out"], [[text, why] for text, why in sorted(reasons.items())]), ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    document = json.loads((ROOT / "invariants" / "sets.json").read_text())
    lines = rules(document["rules"], document["subjects"], sorted(document["sets"]))
    for name in sorted(document["sets"]):
        lines += learned(name)
    lines += left_out(document["left_out"])
    text = HEAD + "\n" + "\n".join(lines).rstrip() + "\n"
    if args.check:
        sys.exit(PAGE.read_text() != text)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
