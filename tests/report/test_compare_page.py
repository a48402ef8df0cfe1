#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html of a comparison in a browser without a window. --pictures DIR leaves pictures of it there."""

import pathlib
import sys
import tempfile
import unittest

import compared
import runs
from browser import Pages

HOSTILE = "</code></style><script>document.title='taken'</script>&amp;w"
LOSSES = [1.0, 0.8, 0.7, 0.6, 0.5, 0.45]
PICTURES = None
SIZES = ((1280, 900, False), (390, 800, False), (1280, 900, True), (390, 800, True))
BROKEN = "\n".join(line for line in compared.SCRIPT.split("\n") if "zero_grad" not in line)


class ComparePage(Pages, unittest.TestCase):
    def missing_call(self, temp, **how):
        """zero_grad() is gone from the fourth line; the loss differs from step 2 on."""
        compared.write(pathlib.Path(temp, "healthy"), LOSSES, **how)
        compared.write(pathlib.Path(temp, "run"), LOSSES[:2] + [0.9, 1.1, 1.4, 2.0], weight=9, zero_grad=None, lines=(4, 5, 6),
                       **{"script": BROKEN, **how})
        return compared.page(temp)

    def texts(self, selector):
        return self.get(f"[...document.querySelectorAll({selector!r})].map(e => e.innerText.trim())")

    def cells(self, selector="#first"):
        """Of the first lines that are shown: element, side, number, text; as far as they can be seen."""
        return self.get(f"""[...document.querySelector('{selector} .sides').children].filter(
            e => getComputedStyle(e).display != 'none' && e.querySelector('code')).map(
            e => [e.tagName, e.className, e.querySelector('i').textContent, e.querySelector('code').textContent])""")

    def test_the_lines_side_by_side(self):
        with tempfile.TemporaryDirectory() as temp:
            page = self.missing_call(temp)
            self.open_page(page, 1280, 900)
            self.assertEqual(self.texts(".lead"), ["Optimizer.zero_grad() is no longer called"])
            cells = self.cells()
            self.assertIn(["DEL", "o here", "4", "    optimizer.zero_grad()"], cells)
            self.assertIn(["SPAN", "o", "5", "    loss = model(x)"], cells)
            self.assertIn(["SPAN", "n", "4", "    loss = model(x)"], cells)
            rows = self.get("""[...document.querySelectorAll('#first .sides > *')].filter(
                e => e.textContent.includes('loss.backward')).map(e => e.getBoundingClientRect()).map(r => [r.top, r.left])""")
            self.assertEqual(rows[0][0], rows[1][0], "equal lines stand in one row")
            self.assertLess(rows[0][1], rows[1][1])

    def test_one_column_on_a_phone(self):
        with tempfile.TemporaryDirectory() as temp:
            self.open_page(self.missing_call(temp), 390, 800)
            self.assertEqual([(tag, number) for tag, _, number, _ in self.cells()],
                             [("SPAN", "1"), ("SPAN", "2"), ("SPAN", "3"), ("DEL", "4"), ("SPAN", "4"), ("SPAN", "5"), ("SPAN", "6")])

    def test_a_replaced_line(self):
        with tempfile.TemporaryDirectory() as temp:
            script = compared.SCRIPT.replace("model(x)", "model(x, 2)\n    # why")
            more = [("torch.relu", 5, {"x": 1})]
            compared.write(pathlib.Path(temp, "healthy"), LOSSES, more=more)
            compared.write(pathlib.Path(temp, "run"), LOSSES, more=[("torch.relu", 5, {"x": 2})], lines=(5, 7, 8), script=script, weight=9)
            self.open_page(compared.page(temp), 1280, 900)
            changed = [c for c in self.cells() if c[0] != "SPAN"]
            self.assertEqual([c[:3] for c in changed], [["DEL", "o here", "5"], ["INS", "n here", "5"], ["INS", "n", "6"]])

    def test_sections(self):
        with tempfile.TemporaryDirectory() as temp:
            self.open_page(self.missing_call(temp), 1280, 900)
            self.assertEqual(self.texts("#all h3"), ["environment", "command line", "sources", "random numbers", "initial weights",
                                                     "data", "calls", "arguments", "results", "variables", "values part"])
            self.assertEqual(self.get("""[...document.querySelectorAll('.kind')].filter(
                e => e.querySelector('.equal')).length"""), 6)
            self.get("document.querySelectorAll('details').forEach(d => d.open = true)")
            self.assertGreater(self.get("document.querySelectorAll('#sources ins, #sources del').length"), 0)

    def test_a_long_section_is_folded(self):
        with tempfile.TemporaryDirectory() as temp:
            for name, value in (("healthy", 1), ("run", 2)):
                compared.write(pathlib.Path(temp, name), LOSSES, weight=value,
                               more=[(f"torch.f{i}", 5, {"x": value}) for i in range(7)])
            self.open_page(compared.page(temp), 1280, 900)
            visible = "[...document.querySelectorAll('#all li')].filter(e => e.checkVisibility() && e.textContent.includes('x is 2')).length"
            self.assertEqual(self.get(visible), 0)
            self.get("[...document.querySelectorAll('summary')].find(e => e.textContent.includes('7 differences')).click()")
            self.assertEqual(self.get(visible), 7)

    def test_set_aside_says_why(self):
        with tempfile.TemporaryDirectory() as temp:
            compared.write(pathlib.Path(temp, "healthy"), LOSSES)
            compared.write(pathlib.Path(temp, "run"), LOSSES, more=[("torch.abs", 5, {})])
            self.open_page(compared.page(temp), 1280, 900)
            self.assertEqual(self.texts(".lead"), ["Nothing differs but what is set aside."])
            self.assertEqual(self.texts(".aside"), ["Set aside: the values of whole steps are equal after it."])

    def test_the_course_of_the_loss(self):
        with tempfile.TemporaryDirectory() as temp:
            self.open_page(self.missing_call(temp), 1280, 900)
            self.assertIn("This run goes from 1 in step 0 to 2 in step 5.", self.get("document.querySelector('.plot svg').getAttribute('aria-label')"))
            self.assertEqual(self.texts("span.mark"), ["values part in step 1"])
            rows = self.get("[...document.querySelectorAll('.numbers tbody tr')].map(r => [...r.children].map(c => c.textContent))")
            self.assertEqual(rows[1:3], [["1 values part", "0.8", "0.8"], ["2", "0.7", "0.9"]])
            lines = self.get("[0, 1].map(i => document.querySelector('.plot .line' + i).getBoundingClientRect().height)")
            self.assertLess(lines[0], lines[1], "the run has the wider range")

    def test_a_resumed_run(self):
        with tempfile.TemporaryDirectory() as temp:
            compared.write(pathlib.Path(temp, "healthy"), LOSSES)
            compared.write(pathlib.Path(temp, "run"), LOSSES[2:], argv=("--resume", "x"))
            self.open_page(compared.page(temp, "--resumed", "--from-step", "2"), 1280, 900)
            self.assertIn("The run goes on at step 2 of the other.", self.get("document.querySelector('.note').textContent"))
            self.assertIn("to 0.45 in step 5.", self.get("document.querySelector('.plot svg').getAttribute('aria-label')").split("This run")[1])

    def test_names_are_text(self):
        with tempfile.TemporaryDirectory() as temp:
            page = self.missing_call(temp, at=f"{HOSTILE}.py", name=HOSTILE, script=compared.SCRIPT.replace("import torch", HOSTILE))
            self.open_page(page, 1280, 900)
            self.assertEqual(self.get("document.title"), "TrainCheck: two runs")
            self.assertIn(HOSTILE, [c[3] for c in self.cells()])
            self.assertIn(HOSTILE, self.get("document.querySelector('.runs').textContent"))

    def test_fits_any_window(self):
        with tempfile.TemporaryDirectory() as temp:
            page = self.missing_call(temp)
            for width, height, dark in SIZES:
                self.open_page(page, width, height, dark=dark)
                self.get("document.querySelectorAll('details').forEach(d => d.open = true)")
                self.assertLessEqual(self.get("document.documentElement.scrollWidth"), width)
                self.assertGreaterEqual(self.get("document.querySelector('.steps span').getBoundingClientRect().height"), 9)
                self.assertEqual(self.get("getComputedStyle(document.body).backgroundColor"),
                                 "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")
                if PICTURES:
                    self.browser.picture(PICTURES / f"compare-{width}{'-dark' if dark else ''}.png")

    def test_contrast(self):
        """Of all letters to what stands behind them: 4.5 and more, as WCAG has it."""
        with tempfile.TemporaryDirectory() as temp:
            page = self.missing_call(temp)
            for dark in False, True:
                self.open_page(page, 1280, 900, dark=dark)
                self.get("document.querySelectorAll('details').forEach(d => d.open = true)")
                self.assertEqual(self.get(CONTRAST), [])


CONTRAST = """(() => {
  const numbers = c => c.match(/[0-9.]+/g).map(Number);
  const light = c => numbers(c).slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (numbers(c)[3] !== 0) return c; } };
  return [...document.querySelectorAll('body *')].filter(e => [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) &&
      !e.closest('svg') && e.checkVisibility()).filter(e => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05) < 4.5;
  }).map(e => e.outerHTML.slice(0, 80));
})()"""


if __name__ == "__main__":
    if "--pictures" in sys.argv:
        at = sys.argv.index("--pictures")
        PICTURES = pathlib.Path(sys.argv[at + 1])
        PICTURES.mkdir(parents=True, exist_ok=True)
        del sys.argv[at:at + 2]
    runs.main()
