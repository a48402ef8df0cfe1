#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of the site: what they show is what the tools print, and they are readable.

usage: test_pages.py --bin BUILD/bin [--run] [TEST...]

Without --run only what needs no torch. Numbers are not compared: losses differ between releases of torch, times always.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]
import fill_pages  # noqa: E402
import paste_outputs  # noqa: E402
import relation_tables  # noqa: E402
from warm import warm_python  # noqa: E402

PAGES = ("index", "tutorial", "reading", "comparing", "choosing", "ci", "reviewing", "notebooks", "recipes", "troubleshooting", "gallery", "how-it-works")
WITHOUT_TORCH = "troubleshooting"  # it shows a script that does not import torch
OLDER = ("monitoring", "online", "python", "scaling", "trackers")  # their commands are run by the tests that they name
# Blocks that are not run, with a reason beside them: one more is noticed here.
NOT_RUN = {"tutorial": 1, "choosing": 1, "ci": 3, "reviewing": 3, "notebooks": 5,
           "recipes": 11, "online": 11, "python": 6, "trackers": 1, "scaling": 6, "monitoring": 1}
# All pages of docs/, and those at the root that people read: lines and sentences that a reader can follow.
READ = sorted([*DOCS.glob("*.md"), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY"))])
MAX_LINE, MAX_MEAN, MAX_SENTENCE, MAX_README_LINES = 100, 20, 35, 100
MAX_WORDS = {"README.md": 650, "relations.md": 6000, "detection.md": 2500}  # but for generated tables
COMMANDS = re.compile(r"(?m)^    (?:\$ )?(traincheck-|pip |docker |srun |torchrun |export |kubectl )")
BIN, RUNS = None, False


def blocks(page):
    return list(paste_outputs.BLOCK.finditer((DOCS / f"{page}.md").read_text()))


def written(path):
    """The text of a page without the tables that scripts/relation_tables.py makes."""
    return relation_tables.TABLE.sub("", path.read_text())


def words_of(text):
    return len(re.findall(r"[\w'-]+", text))


def prose(path):
    """Sentences outside of blocks, tables, headings and marks."""
    text = paste_outputs.BLOCK.sub("\n", written(path))
    text = re.sub(r"(?m)^(\||#|<!--|!!!|\* \[).*$", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"`[^`]*`", "code", text)
    parts = re.split(r"(?<=[.!?:])\**\s+|\n\n+|\n(?=\s*(?:\*|\d+\.) )", text)
    return [part for part in parts if len(re.findall(r"\w+", part)) > 2]


def without_numbers(text):
    return re.sub(r"\d+(\.\d+)*(\+(cpu|cu\d+))?", "#", text)


def anchor(heading):
    """As GitHub and the site make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Pages(unittest.TestCase):
    def test_every_command_is_run_or_says_why_not(self):
        for page in PAGES + OLDER:
            with self.subTest(page):
                silent = [m["block"] for m in blocks(page) if COMMANDS.search(m["block"]) and not paste_outputs.is_run(m)
                          and m["kind"] not in ("not run:", "from")]
                self.assertEqual(silent, [])
                self.assertEqual(sum(m["kind"] == "not run:" for m in blocks(page)), NOT_RUN.get(page, 0))

    def test_links_lead_to_headings(self):
        """Of all pages, also of those beside the site, which is built without them."""
        pages = [*ROOT.glob("*.md"), *(page for name in ("docs", "invariants", "benchmarks", "examples") for page in (ROOT / name).rglob("*.md"))]
        texts = {page: page.read_text() for page in pages}
        anchors = {path: {anchor(m[1]) for m in re.finditer(r"(?m)^#+ (.*)$", text)} for path, text in texts.items()}
        wrong = []
        for page, text in texts.items():
            for path, heading in re.findall(r"\]\(([^)\s:#]*)#?([^)\s:]*)\)", text):
                target = (page.parent / path).resolve() if path else page
                if not target.exists() or heading and target in anchors and heading not in anchors[target]:
                    wrong.append(f"{page.relative_to(ROOT)}: {path}#{heading}")
        self.assertEqual(wrong, [])

    def test_each_folder_of_sources_is_told_of(self):
        architecture, hacking = ((DOCS / name).read_text() for name in ("ARCHITECTURE.md", "HACKING.md"))
        for folder in sorted(path.name for path in (ROOT / "src").iterdir()):
            with self.subTest(folder):
                self.assertIn(f"\n| `src/{folder}/` | ", architecture)
                self.assertRegex(hacking, rf"\n    src/{folder}/ +\w")

    def test_counts_are_those_of_the_files(self):
        pipelines = len(json.loads((ROOT / "benchmarks/pipelines/pipelines.json").read_text()))
        self.assertIn(f"Of the {pipelines} healthy pipelines none is the healthy half of a bug", (DOCS / "detection.md").read_text())
        told = sum(map(int, re.findall(r"(?m)^\* (\d+) invariants: ", (ROOT / "invariants/README.md").read_text())))
        held = sum(len(path.read_text().splitlines()) - 1 for path in (ROOT / "invariants").glob("*.jsonl"))  # without the header
        self.assertEqual(told, held)

    def test_the_format_has_each_attribute_of_facts(self):
        attributes = (ROOT / "src/invariant/fact.h").read_text().split("#define TC_ATTRIBUTE_MAP(X)")[1].split("\n\n")[0]
        rows = (DOCS / "invariant-format.md").read_text().split("\n| attribute | value |\n")[1].split("\n\n")[0]
        told = [name for row in rows.splitlines()[1:] for name in re.findall(r"`(\w+)`", row.split(" | ")[0])]
        self.assertEqual(sorted(told), sorted(re.findall(r'X\(\w+, "(\w+)"\)', attributes)))

    def test_tables_are_those_of_the_code(self):
        p = subprocess.run([sys.executable, "-B", ROOT / "scripts" / "relation_tables.py", "--check"])
        self.assertEqual(p.returncode, 0, "run scripts/relation_tables.py: a table of docs/relations.md is not what the code, or a case, says")
        p = subprocess.run([sys.executable, "-B", ROOT / "scripts" / "sets_page.py", "--check"])
        self.assertEqual(p.returncode, 0, "run scripts/sets_page.py")
        told = (DOCS / "relations.md").read_text()
        for row in ("| law | 2 | ", "| own | only one | ", "| `pause` | "):
            self.assertIn(row, told)
        self.assertGreater((DOCS / "relations.md").read_text().count("| `relations/"), 30)

    def test_the_architecture_names_what_exists(self):
        """Files, by the end of their path, and functions, by a name with brackets."""
        page = (DOCS / "ARCHITECTURE.md").read_text()
        code = [path for folder in ("src", "tools", "scripts", "include") for path in (ROOT / folder).rglob("*") if path.is_file()]
        paths = [f"/{path.relative_to(ROOT)}" for path in [*code, *DOCS.glob("*.md")]]
        files = set(re.findall(r"`([\w/-]+\.(?:c|h|py|md))`", page))
        self.assertGreater(len(files), 60)
        self.assertEqual([name for name in sorted(files) if not any(path.endswith(f"/{name}") for path in paths)], [])
        text = "".join(path.read_text() for path in code if path.suffix in (".c", ".h"))
        walks = page.split("\n## Folders\n")[0]
        functions = set(re.findall(r"`(\w+)\(\)`", walks)) - {"step"}
        self.assertGreater(len(functions), 40)
        self.assertEqual([name for name in sorted(functions) if not re.search(rf"(?m)^[a-z][\w *]*\b{name}\(", text)], [])

    def test_a_step_of_a_walk_names_where_its_functions_are(self):
        """By a file, or by their folder: a reader opens what the step names, and finds them there."""
        code = {f"/{path.relative_to(ROOT)}": path.read_text() for folder in ("src", "tools") for path in (ROOT / folder).rglob("*.c")}
        walks, lost = (DOCS / "ARCHITECTURE.md").read_text().split("\n## Folders\n")[0].split("\n## Walk ")[1:], []
        for step in (step for walk in walks for step in re.split(r"(?m)^(?=\d+\. )", walk)[1:]):
            named = [f"/{end}" for end in re.findall(r"`([\w/-]+(?:\.c|/))`", step)]
            texts = [text for path, text in code.items() if any(path.endswith(n) or n.endswith("/") and n in path for n in named)]
            lost += [name for name in re.findall(r"`(\w+)\(\)`", step)
                     if not any(re.search(rf"(?m)^[a-z][\w *]*\b{name}\(", text) for text in texts)]
        self.assertEqual(lost, [])

    def test_a_walk_fits_a_screen_or_two(self):
        walks = (DOCS / "ARCHITECTURE.md").read_text().split("\n## Folders\n")[0].split("\n## Walk ")[1:]
        self.assertEqual(len(walks), 4)
        self.assertEqual([walk.split("\n")[0] for walk in walks if len(walk.splitlines()) > 60], [])

    def test_the_glossary_is_short(self):
        words = re.findall(r"(?m)^\| ([\w ]+) \| ", (DOCS / "ARCHITECTURE.md").read_text().split("## Words")[1].split("\n## ")[0])[1:]
        self.assertEqual(len(words), len(set(words)))
        self.assertTrue(20 < len(words) <= 30, len(words))

    def test_quotes_stand_where_they_are_held(self):
        n = 0
        for page in PAGES:
            for m in blocks(page):
                if m["kind"] == "from":
                    n += 1
                    with self.subTest(page, quote=m["block"][:40]):
                        self.assertIn(m["block"].rstrip(), (DOCS / m["what"]).read_text())
        self.assertGreater(n, 3)

    def test_lines_and_sentences_are_short(self):
        for path in READ:
            with self.subTest(path.name):
                long = [line for line in written(path).splitlines()
                        if len(line) > MAX_LINE and not line.startswith(("    ", "|", "<!--"))]
                self.assertEqual(long, [], "run scripts/fill_pages.py")
                sentences = prose(path)
                self.assertLessEqual(statistics.mean(map(words_of, sentences)), MAX_MEAN)
                self.assertEqual([s for s in sentences if words_of(s) > MAX_SENTENCE], [])

    def test_filling_a_page_changes_its_prose_alone(self):
        long = "Words of a sentence that goes on. " * 6
        block = "    a block  whose   blanks count\n"
        kept = f"# Title\n\n{block}\n| a | table of {long} |\n|---|---|\n\n<!-- {long}-->\n"
        page = fill_pages.fill(f"{kept}\n{long}`code in a line` {long}\n\n* {long}\n* short\n\n1. {long}\n\n> {long}\n")
        self.assertTrue(page.startswith(kept))
        self.assertEqual([line for line in page.removeprefix(kept).splitlines() if len(line) > MAX_LINE], [])
        self.assertIn("`code in a line`", page)
        self.assertEqual(page.count("\n* "), 2)
        without_quotes = page.replace("\n> ", "\n")
        self.assertEqual(without_quotes.split(), f"{kept}{long}`code in a line` {long}* {long}* short 1. {long}{long}".split())
        self.assertEqual(fill_pages.fill(page), page)

    def test_pages_that_must_stay_short_do(self):
        for path in (path for path in READ if path.name in MAX_WORDS):
            with self.subTest(path.name):
                self.assertLessEqual(len(written(path).split()), MAX_WORDS[path.name])
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), MAX_README_LINES)

    def test_the_readme_quotes_a_page(self):
        readme = (ROOT / "README.md").read_text()
        quotes = [m for m in paste_outputs.BLOCK.finditer(readme) if m["kind"] == "from"]
        self.assertEqual(len(quotes), 1)
        self.assertIn(quotes[0]["block"].rstrip(), (ROOT / quotes[0]["what"]).read_text())

    def test_the_gallery_has_every_case(self):
        text = (DOCS / "gallery.md").read_text()
        cases = {p.parent.name for folder in ("bugs", "osdi") for p in (ROOT / "benchmarks" / folder).glob("*/bug.py")}
        shown, lacking = (re.findall(pattern, text) for pattern in (r"(?m)^## (\w+)$", r"(?m)^\* `(\w+)`: "))
        self.assertEqual(sorted(shown + lacking), sorted(cases))
        self.assertGreater(len(shown), 3)
        self.assertLess(len(text), 64 * 1024)
        for section in text.split("\n## Not shown yet")[0].split("\n## ")[1:]:
            with self.subTest(section.split("\n")[0]):
                self.assertRegex(section, r"(?m)^      (so|expected): |\([A-Z]+-[0-9a-f]{8},")  # what broke, behind it or as its head
                self.assertNotIn(str(ROOT), section)

    def test_outputs_are_what_the_commands_print(self):
        if not RUNS:
            return
        warm = warm_python(sys.executable, ["sklearn.datasets"], OMP_NUM_THREADS="1").parent
        for page in PAGES:
            if any(map(paste_outputs.is_run, blocks(page))):
                with self.subTest(page):
                    self.maxDiff = None
                    python_dir = None if page == WITHOUT_TORCH else warm
                    self.assertEqual(without_numbers((DOCS / f"{page}.md").read_text()),
                                     without_numbers(paste_outputs.pasted(DOCS / f"{page}.md", BIN, python_dir)))


if __name__ == "__main__":
    args = sys.argv[1:]
    if args[:1] != ["--bin"] or len(args) < 2:
        sys.exit(__doc__)
    BIN, RUNS = pathlib.Path(args[1]).resolve(), "--run" in args
    unittest.main(argv=[sys.argv[0], *[a for a in args[2:] if a != "--run"]])
