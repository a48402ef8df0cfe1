#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html of a refuted plan in a browser without a window: the edge where the layouts part is drawn.
--pictures DIR leaves pictures of it there."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import runs
from browser import Pages

TINY = pathlib.Path(__file__).resolve().parents[1] / "plan" / "tiny.py"
HOSTILE = "</style><script>document.title='taken'</script>&amp;w"
PICTURES = None
SIZES = ((1280, 900, False), (390, 800, False), (1280, 900, True))


class PlanPage(Pages, unittest.TestCase):
    def report(self, folder, bug, name="w"):
        """The report on the plans of tiny.py, in which the parameter has another name."""
        folder = pathlib.Path(folder)
        subprocess.run([sys.executable, TINY, folder, bug], check=True)
        for path in folder.glob("*/plan-*"):
            path.write_text(path.read_text().replace('"w"', f'"{name}"').replace('"w.grad"', f'"{name}.grad"'))
        subprocess.run([runs.BIN / "traincheck-check", "--plan", "parallel", "--plan-reference", "single", "-o", "report",
                        "-q"], cwd=folder, capture_output=True, check=False)
        return folder / "report" / "report.html"

    def open(self, page, width=1280, height=900, dark=False):
        self.open_page(page, width, height, dark=dark)

    def boxes(self, figure):
        """The lines of each box of a figure, and whether it lies on the broken edge."""
        return self.get(f"""[...document.querySelectorAll('figure')[{figure}].querySelectorAll('g')].map(g =>
            [g.className.baseVal, ...[...g.querySelectorAll('text')].map(t => t.textContent)])""")

    def test_the_edge_that_breaks(self):
        with tempfile.TemporaryDirectory() as temp:
            page = self.report(temp, "no_reduce")
            self.open(page)
            self.assertEqual(self.get("document.querySelector('h1').textContent"), "Plan refuted")
            self.assertEqual(self.boxes(1), [
                ["broken", "aten.mm", "train.py:10", "Partial(sum) over tp"],
                ["", "x", "before the step", "Shard(1)"],
                ["operator", "aten.mm", "train.py:14", "no part of any single-device value"],
                ["", "gradient of w", "must be the single-device value"]])
            self.assertEqual(self.boxes(0)[0], ["", "aten.mm", "train.py:10", "whole"])
            self.assertEqual(self.boxes(0)[2], ["operator", "aten.mm", "train.py:14", "whole"])
            self.assertEqual(self.get("document.querySelectorAll('.broken .cross').length"), 1)

    def test_fits_any_window(self):
        with tempfile.TemporaryDirectory() as temp:
            page = self.report(temp, "no_reduce")
            for width, height, dark in SIZES:
                self.open(page, width, height, dark)
                letters = self.get("document.querySelector('svg text').getBoundingClientRect().height")
                self.assertGreaterEqual(letters, 9, "letters too small to read")
                colours = self.get("""(f => [f('h1', 'color'), f('body', 'backgroundColor')])(
                    (of, what) => getComputedStyle(document.querySelector(of))[what])""")
                self.assertNotEqual(*colours)
                self.assertEqual(self.get("""getComputedStyle(document.body).backgroundColor"""),
                                 "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")
                if PICTURES:
                    self.browser.picture(PICTURES / f"plan-{width}{'-dark' if dark else ''}.png")

    def test_a_long_layout_takes_two_lines(self):
        with tempfile.TemporaryDirectory() as temp:
            page = self.report(temp, "twice")
            for path in pathlib.Path(temp).glob("*/plan-*"):
                path.write_text(path.read_text().replace('"tp"', '"tensor_parallel_ranks"'))
            subprocess.run([runs.BIN / "traincheck-check", "--plan", "parallel", "--plan-reference", "single", "-o", "report",
                            "-q"], cwd=temp, capture_output=True, check=False)
            self.open(page)
            self.assertEqual(self.boxes(1)[-2][-2:], ["Shard(0) over tensor_parallel_ranks,", "times 2"])
            self.assertEqual(self.get("[...document.querySelectorAll('.detail')].map(e => e.textContent)"),
                             ["times 2 from c10d.allreduce_ (train.py:11)", "aten.mm (train.py:14): times 1/2, the wrong result is right"])
            self.assertEqual(self.get("document.querySelector('td.wrong').textContent"), "1")

    def test_the_layer_leads_to_the_finding(self):
        with tempfile.TemporaryDirectory() as temp:
            self.open(self.report(temp, "no_reduce"))
            self.assertEqual(self.get("document.querySelector('table a').hash"), "#finding1")
            self.assertEqual(self.get("document.querySelectorAll('#finding1 figure').length"), 2)
            self.assertEqual(self.get("document.querySelectorAll('td.wrong').length"), 2)

    def test_names_are_text(self):
        with tempfile.TemporaryDirectory() as temp:
            self.open(self.report(temp, "no_reduce", HOSTILE))
            self.assertEqual(self.get("document.title"), "TrainCheck plan")
            self.assertIn(HOSTILE, self.get("document.querySelector('.finding p').textContent"))

    def test_nothing_is_drawn_without_an_operator(self):
        with tempfile.TemporaryDirectory() as temp:
            for bug, heading in (("mismatch", "Plan refuted"), ("unknown_part", "Plan unjudged"), ("", "Plan verified")):
                folder = pathlib.Path(temp, bug or "right")
                folder.mkdir()
                self.open(self.report(folder, bug))
                self.assertEqual(self.get("document.querySelector('h1').textContent"), heading)
                self.assertEqual(self.get("document.querySelectorAll('figure').length"), 0)


if __name__ == "__main__":
    if "--pictures" in sys.argv:
        at = sys.argv.index("--pictures")
        PICTURES = pathlib.Path(sys.argv[at + 1])
        PICTURES.mkdir(parents=True, exist_ok=True)
        del sys.argv[at:at + 2]
    runs.main()
