#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html of a comparison as text: its elements fit, its size is bounded, names in it are text."""

import html.parser
import json
import pathlib
import re
import tempfile
import unittest

import compared
import runs

MARKUP = "</style></code><script>document.title=1</script><img src=//evil.example/x onerror=\"alert(1)\">'"
EMPTY = {"meta", "br", "img", "path", "link", "input", "hr"}
LOSSES = [1.0, 0.8, 0.7, 0.6, 0.5, 0.45]


class Reader(html.parser.HTMLParser):
    """Notes elements; what is closed must be what is open."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.headings, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in EMPTY:
            self.open.append(tag)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.texts.append(data)


class ComparePage(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(scratch.name)

    def read(self):
        """The page, whose elements fit, which is no script's and loads nothing."""
        text = compared.page(self.work).read_text(encoding="utf-8")
        start = text.index("</style>")
        reader = Reader(text[:text.index("<style>")] + text[start + len("</style>"):])
        for tag, attrs in reader.elements:
            self.assertNotIn(tag, {"script", "img", "link", "iframe", "object"})
            self.assertFalse({"src", "srcset", "onload", "onerror"} & attrs.keys(), attrs)
            self.assertTrue(attrs.get("href", "#").startswith("#"), attrs)
        self.assertNotRegex(text[:start], r"url\(|@import|://")
        for before, after in zip(reader.headings, reader.headings[1:]):
            self.assertLessEqual(after, before + 1)
        self.assertEqual(reader.headings[0], 1)
        self.assertEqual(reader.headings.count(1), 1)
        return text, reader

    def test_names_are_text(self):
        script = compared.SCRIPT.replace("import torch", f"x = '{MARKUP}'")
        compared.write(self.work / "healthy", LOSSES, at=f"{MARKUP}.py", name=MARKUP, script=script)
        compared.write(self.work / "run", LOSSES, weight=9, at=f"{MARKUP}.py", name=MARKUP, argv=(f"--{MARKUP}", MARKUP),
                       script=script + f"\n{MARKUP}", more=[(f"torch.{MARKUP}", 1, {"x": MARKUP})])
        _, reader = self.read()
        self.assertIn(MARKUP, "".join(reader.texts))

    def test_no_numbers_no_chart(self):
        for losses, n in ((LOSSES, 1), ([None] * 6, 0)):
            with tempfile.TemporaryDirectory() as temp:
                self.work = pathlib.Path(temp)
                compared.write(self.work / "healthy", losses)
                compared.write(self.work / "run", losses, weight=9)
                text, _ = self.read()
                self.assertEqual(text.count('id="loss"'), n)
                self.assertEqual(text.count('aria-label="The loss of both runs'), n)

    def test_numbers_of_any_size(self):
        infinity, nan = float("inf"), float("nan")
        for losses in ([nan] * 6, [nan, 1, nan, 1, infinity, -infinity], [0] * 6, [1e308, -1e308] * 3, [5e-324, 1e308] * 3,
                       [1], [-3, -3], [1e-300, 2e-300, 1e300]):
            with tempfile.TemporaryDirectory() as temp:
                self.work = pathlib.Path(temp)
                compared.write(self.work / "healthy", losses)
                compared.write(self.work / "run", losses[::-1], weight=9)
                text, reader = self.read()
                for tag, attrs in reader.elements:
                    self.assertNotRegex(attrs.get("d", "") + attrs.get("style", ""), "(?i)nan|inf", losses)

    def test_other_steps(self):
        for steps in ([-(1 << 62), 1 << 62], [1 << 62, 1 << 62]):
            with tempfile.TemporaryDirectory() as temp:
                self.work = pathlib.Path(temp)
                for name in "healthy", "run":
                    compared.write(self.work / name, LOSSES)
                    path = self.work / name / "trace_1.jsonl"
                    records = [json.loads(line) for line in path.read_text().splitlines()]
                    for r in records:
                        if r.get("step"):
                            r["step"] = steps[r["step"] % 2]
                    path.write_text("".join(json.dumps(r) + "\n" for r in records))
                self.read()

    def test_many_differences(self):
        more = [(f"torch.f{i}", 5, {"x": i}) for i in range(5000)]
        compared.write(self.work / "healthy", LOSSES[:2], n_names=5000, name="layer", more=more)
        compared.write(self.work / "run", LOSSES[:2], weight=9, n_names=5000, name="layer",
                       more=[(fn, line, {"x": -1}) for fn, line, _ in more])
        text, _ = self.read()
        listed = (self.work / "report" / "differences.jsonl").read_text().count("\n") - 1
        self.assertGreaterEqual(listed, 10000)
        self.assertLess(len(text.encode()), 3_000_000)
        n = [int(x) for x in re.findall(r"(\d+) more are not listed here; differences.jsonl has all", text)]
        self.assertEqual(sum(n) + text.count("<li>"), listed)

    def test_long_hostile_lines(self):
        script = "\n".join("<" * 100_000 for _ in range(60)) + "\n" + compared.SCRIPT
        lines = tuple(60 + i for i in (5, 6, 7))
        more = [(f"torch.f{i}", 30 + i % 30, {"x": i}) for i in range(400)]
        compared.write(self.work / "healthy", LOSSES, script=script, more=more, lines=lines)
        compared.write(self.work / "run", LOSSES, weight=9, script=script.replace("<", ">"), lines=lines,
                       more=[(fn, line, {"x": "<" * 1000}) for fn, line, _ in more])
        text, _ = self.read()
        self.assertLess(len(text.encode()), 3_000_000)

    def test_without_sources(self):
        compared.write(self.work / "healthy", LOSSES, script=None)
        compared.write(self.work / "run", LOSSES, weight=9, zero_grad=None, script=None)
        text, _ = self.read()
        self.assertIn("The traces do not hold the lines of this file.", text)
        self.assertNotIn('class="sides"', text)

    def test_a_file_of_one_run(self):
        compared.write(self.work / "healthy", LOSSES, script="\n".join(f"other {i}" for i in range(9)), at="old.py")
        compared.write(self.work / "run", LOSSES, weight=9)
        self.read()


if __name__ == "__main__":
    runs.main()
