#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the tables of src/relation into docs/relations.md, so that the page says what the code does.

usage: relation_tables.py [--check] [--bin BUILD/bin]

--check writes nothing, and exits with 1 if the page is not what the tables say.
--bin   also runs the cases of tests/relations that the table of reports names, and takes what the tools print; a form that
        has no row there gets one of its first case with a violation. tests/relations/test_reports.py checks it.

Each table, or the text in place of one, stands between <!-- NAME --> and <!-- end -->:

forms    relations, sources and claims of src/relation/*.c and src/fact/source.c; tests/relations/told_first.json
rules    the first comments of src/relation/*.c, as sections
cases    what the cases of tests/relations say of themselves
excuses  src/relation/excuse.h
support  src/relation/support.h
reports  the page itself says which case of which form
"""

import argparse
import ast
import json
import pathlib
import re
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "relations.md"
CASES = ROOT / "tests" / "relations"
TABLE = re.compile(r"(?s)<!-- (forms|rules|cases|reports|support|excuses) -->\n\n.*?\n\n<!-- end -->")


def rows_of(header, n):
    """The rows X("text", ...) of a table in a header: of each the last n parts, without the quotes."""
    text = re.sub(r" *\\\n *", " ", (ROOT / header).read_text(encoding="utf-8"))
    text = re.sub(r'" "', "", text)
    rows = re.findall(r'X\(((?:\w+|"[^"]*"|, )+)\)', text)
    return [[part.strip('"') for part in re.findall(r'\w+|"[^"]*"', row)][-n:] for row in rows if '"' in row]


def excuses():
    lines = ["| excuse | not judged, as | forced by | test |", "|---|---|---|---|"]
    for name, about, why, forced_by, test in rows_of("src/relation/excuse.h", 5):
        scope = "" if about == "TC_NO_SYM" else f" (of `{about.removeprefix('TC_SYM_').lower()}` alone)"
        lines.append(f"| `{name}` | {why}{scope} | {forced_by} | `{test}` |")
    return "\n".join(lines)


def support():
    lines = ["| support | pipelines | why | the number comes from | claims |", "|---|---|---|---|---|"]
    words = {"TC_PIPELINES_NONE": "none", "TC_PIPELINES_ALL": "all", "TC_PIPELINES_ONLY": "only one"}
    for name, pipelines, why, origin, claims in rows_of("src/relation/support.h", 5):
        lines.append(f"| {name.lower()} | {words.get(pipelines, pipelines)} | {why} | {origin} | {claims} |")
    return "\n".join(lines)


# ---- forms


def text_of(field, code):
    """The string of a member of an initialiser, written in one piece or several; "" if there is none."""
    found = re.search(rf'\.{field} =\s*((?:"[^"]*"\s*)+)', code)
    return "".join(re.findall(r'"([^"]*)"', found[1])) if found else ""


def sources():
    """{name in C: (when it judges, file)} of all sources of examples."""
    found = {}
    for file in sorted(ROOT.glob("src/relation/*.c")) + [ROOT / "src" / "fact" / "source.c"]:
        for name, code in re.findall(r"const struct tc_source (tc_source_\w+) = \{(.*?)\};", file.read_text(encoding="utf-8"), re.S):
            found[name] = text_of("judged", code), file
        for name, code in rules_in(file):
            found[name] = text_of("judged", code), file
    return found


def rules_in(file):
    """(name in C, code) of the rules of a file: each is a source and a form in one."""
    return re.findall(r"const struct tc_relation_rule (tc_rule_\w+) = \{(.*?)\n\};", file.read_text(encoding="utf-8"), re.S)


def relations():
    """(name, summary, source, code, file) of all forms, in the order of the registry."""
    found = {}
    for file in sorted(ROOT.glob("src/relation/*.c")):
        text = file.read_text(encoding="utf-8")
        for name, code in re.findall(r"const struct tc_relation (tc_\w+) = \{(.*?)\n\};", text, re.S):
            source = re.search(r"\.source = &(\w+)", code)
            found[name] = text_of("name", code), text_of("summary", code), source[1] if source else "tc_source_operands", code, file
        for name, code in rules_in(file):
            found[name] = text_of("name", code), text_of("summary", code), name, code, file
    file = ROOT / "src" / "fact" / "source.c"
    for name, form, summary in re.findall(r'FORM\((\w+), \w+, "([^"]+)", \w+,\s*"([^"]+)"', file.read_text(encoding="utf-8")):
        found[name] = form, summary, "tc_source_facts", ".support = TC_SUPPORT_EVERY", file
    registry = (ROOT / "src" / "relation" / "registry.c").read_text(encoding="utf-8")
    order = re.findall(r" [FR]\((tc_\w+)\)", registry[registry.index("#define FORMS"):])
    return [found[name] for name in order if name in found]


def excuses_of(form, files):
    """Excuses that the files name, or whose test is one of the form; those of a source of many forms are told by their tests."""
    code = "".join(file.read_text(encoding="utf-8") for file in files if not file.stem.startswith("operand"))
    named = {name.lower() for name in re.findall(r"TC_EXCUSED?_(?!BIT|NONE)([A-Z_]+)", code)}
    rows = rows_of("src/relation/excuse.h", 5)
    return [name for name, _, _, _, test in rows if name in named or test.startswith(f"relations/{form.replace('/', '_')}/")]


def support_of(code, file):
    """Names of the supports in a form's own rows; a file with one form may name them anywhere."""
    own = code if "TC_SUPPORT_" in code else file.read_text(encoding="utf-8")
    names = [row[0] for row in rows_of("src/relation/support.h", 5)]
    used = set(re.findall(r"TC_SUPPORT_([A-Z]+)", own))
    return [name.lower() for name in names if name in used] + ["one occasion"] * ("min_examples = 1" in own)


def forms():
    told = json.loads((CASES / "told_first.json").read_text(encoding="utf-8"))
    judged = sources()
    lines = ["| form | claim | judged at | not judged, as | support | tells first of |", "|---|---|---|---|---|---|"]
    for form, summary, source, code, file in relations():
        when, at = judged[source]
        cells = [form, summary, when, ", ".join(f"`{e}`" for e in excuses_of(form, {file, at} if source != "tc_source_facts" else set())),
                 ", ".join(support_of(code, file)), ", ".join(f"`{bug}`" for bug in told.get(form, []))]
        lines.append(f"| {' | '.join(cell or '-' for cell in cells)} |")
    return "\n".join(lines)


# ---- rules and cases


def first_comment(file):
    """Its lines, without the name of the file."""
    lines = re.search(r"(?s)\n/\*\n(.*?) \*/", file.read_text(encoding="utf-8"))[1].split("\n")
    lines = [line[3:].rstrip() for line in lines]
    return [re.sub(r"^\w+\.c - ", "", lines[0]), *lines[1:]]


def parts_of(lines):
    """The paragraphs of a comment, [""] and lines; an indented term begins one of its own, [term] and lines."""
    parts = [["", []]]
    for line in lines:
        term = re.match(r" {2,}(\S+) {2,}(.*)", line)
        if term:
            parts.append([term[1], [term[2]]])
        elif not line or parts[-1][0] and not line.startswith("  "):
            parts.append(["", [line]])
        else:
            parts[-1][1].append(line)
    return [(term, " ".join(" ".join(text).split())) for term, text in parts if any(text)]


def titled(forms, lines):
    """The comment, of which the title ends with a stop and does not name a form that stands beside it."""
    end = lines.index("") if "" in lines else len([line for line in lines if line])
    title = " ".join(lines[:end])
    for form in forms:
        title = title.removeprefix(f"{form}: ")
    return [title[0].upper() + title[1:] + ".", *lines[end:]]


def filled(term, text):
    """A paragraph, or an item of a list, as lines of a page."""
    begin, rest = (f"* *{term}*: ", "  ") if term else ("", "")
    return textwrap.fill(text, 100, initial_indent=begin, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)


def rules():
    by_file = {}
    for form, *_, file in relations():
        if "fact" not in file.parts:
            by_file.setdefault(file, []).append(form)
    sections = []
    for file, forms in by_file.items():
        parts = parts_of(titled(forms, first_comment(file)))
        text = "".join(("\n" if term and before else "\n\n") + filled(term, part)
                       for (before, _), (term, part) in zip([("", "")] + parts, parts))
        sections.append(f"#### {', '.join(forms)}{text}")
    return "\n\n".join(sections)


def cases():
    lines, order = ["| form | case | what it shows |", "|---|---|---|"], [form for form, *_ in relations()]
    for form in order:
        for file in sorted((CASES / form.replace("/", "_")).glob("*/case.py")):
            told = " ".join(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))).split())
            lines.append(f"| {form} | `{file.parent.name}` | {escaped(told)} |")
            form = ""
    return "\n".join(lines)


# ---- reports


def escaped(text):
    return " ".join(text.split()).replace("__", "\\_\\_").replace("|", "\\|")


def reports_of(page):
    """[form, expected, seen, case] of the table on the page; a form is not said twice in a row."""
    table = re.search(r"(?s)<!-- reports -->\n\n.*?\n\|[-|]+\|\n(.*?)\n\n<!-- end -->", page)[1]
    rows = [re.split(r"(?<!\\) ?\| ?", line)[1:-1] for line in table.split("\n")]
    for before, row in zip([[""]] + rows, rows):
        row[0] = row[0] or before[0]
        row[3] = row[3].strip("`")
    return rows


def violations_of(bin_dir, form, case):
    """(expected, seen) of the form, as checks of the case's broken traces print them."""
    sys.path.insert(0, str(CASES))
    import run
    folder = CASES / form.replace("/", "_") / case
    with tempfile.TemporaryDirectory(prefix="tc report ") as scratch:
        work = pathlib.Path(scratch)
        module = run.load(folder)
        traces = run.write_traces(module, work)
        invariants, _ = run.invariants_of(module, form, traces["healthy"], bin_dir, work)
        found = [v for of_trace in run.check(bin_dir, traces["broken"], invariants, work).values() for v in of_trace]
    return [(escaped(v["expected"]), escaped(v["seen"])) for v in found if v["relation"] == form]


def reports(page, bin_dir):
    lines, last = ["| form | expected | seen | case |", "|---|---|---|---|"], ""
    rows = reports_of(page)
    if bin_dir:
        rows = list(current_rows(rows, bin_dir))
    for form, expected, seen, case in rows:
        lines.append(f"| {'' if form == last else form} | {expected} | {seen} | `{case}` |")
        last = form
    return "\n".join(lines)


def current_rows(rows, bin_dir):
    """The rows as the tools have them now, and one of each form that has none."""
    for form, *_ in relations():
        own = [row for row in rows if row[0] == form]
        for _, expected, seen, case in own:
            found = violations_of(bin_dir, form, case)
            same = [v for v in found if v == (expected, seen)] or [v for v in found if v[0] == expected] or found
            yield [form, *same[0], case]
        cases = sorted((CASES / form.replace("/", "_")).glob("*/case.py")) if not own else []
        found = ((case.parent.name, v) for case in cases for v in violations_of(bin_dir, form, case.parent.name)[:1])
        for case, violation in [next(found)] if cases else []:
            yield [form, *violation, case]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--bin", type=lambda path: pathlib.Path(path).resolve())
    args = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    tables = {"forms": forms(), "rules": rules(), "cases": cases(), "excuses": excuses(), "support": support(),
              "reports": reports(page, args.bin)}
    made = TABLE.sub(lambda m: f"<!-- {m[1]} -->\n\n{tables[m[1]]}\n\n<!-- end -->", page)
    if args.check:
        return made != page
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
