#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html in a browser without a window. --pictures DIR leaves pictures of it there."""

import json
import pathlib
import sys

import runs
from browser import Pages
from trace_writer import Trace

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\u2028&amp;<!--"
PICTURES = None
SIZES = ((1280, 900), (390, 800))


def write_many(folder, n):
    """n calls of as many functions with an operand that is 0, and invariants that want -1."""
    t = Trace(folder / "many")
    model = t.net("w")
    optimizer = t.optimizer(model)
    lines = []
    for i in range(n):
        if i % 100 == 0:
            if i:
                t.leave()
                t.cut()
            t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)
            t.step(optimizer)
        if i % 100 == 50:
            t.enter("outer", at="train.py:1")
        t.op(f"f{i}", args={"dim": 0}, at=f"train.py:{i}")
        lines.append({"relation": "APIArg/constant", "when": [], "text": f"in f{i}(), dim is -1",
                      "params": [{"call": f"f{i}"}, {"operand": "args.dim", "is": -1}],
                      "evidence": {"held": 3, "pipelines": 1}})
    t.leave()
    t.cut()
    t.end()
    (folder / "many.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))


class Page(Pages, runs.Case):
    def open(self, report, width=1280, height=900, **how):
        self.open_page(report / "report.html", width, height, **how)
        self.assertEqual(self.get("document.documentElement.dataset.ready"), "true")

    def count(self, selector):
        return self.get(f"document.querySelectorAll({json.dumps(selector)}).length")

    def text(self, selector):
        return self.get(f"document.querySelector({json.dumps(selector)}).innerText")

    def test_changed_settings_stand_apart(self):
        self.write_settings()
        report, _ = self.check(trace="rate")
        self.open(report)
        self.assertEqual(self.text("h1"), "1 setting of the script changed, no law was broken")
        self.assertEqual(self.text("#stories h2"), "Changed settings of the script")
        report, _ = self.check(trace="both")
        self.open(report, 390, 800)
        self.assertRegex(self.text("h1"), "^One cause broke [12] invariants?$")
        self.assertEqual(self.text("#stories h2"), "What broke")

    def test_every_size_and_scheme(self):
        report, _ = self.check()
        grounds = set()
        for width, height in SIZES:
            for dark in (False, True):
                self.open(report, width, height, dark=dark)
                grounds.add(self.get("getComputedStyle(document.body).backgroundColor"))
                if PICTURES:
                    PICTURES.mkdir(parents=True, exist_ok=True)
                    self.browser.picture(PICTURES / f"report_{width}{'_dark' if dark else ''}.png")
                self.get("dispatchEvent(new Event('beforeprint'))")
                cells = self.get("[...document.querySelectorAll('.variables td + td:not(:empty)')].map(x => x.clientHeight)")
                self.assertTrue(cells)
                self.assertLess(max(cells), 40)  # no word is broken
        self.assertEqual(len(grounds), 2)

    def test_verdict_first_then_stories(self):
        report, _ = self.check()
        summary = json.loads((report / "violations_summary.json").read_text())
        self.open(report)
        self.assertEqual(self.get("document.querySelector('body *').id"), "top")
        words = self.text("h1")
        self.assertIn(str(summary["counts"]["failed"]), words)
        self.assertEqual(self.count(".story"), len(summary["groups"]))
        for i, group in enumerate(summary["groups"], 1):
            story = self.text(f"#g{i}")
            self.assertIn(group["seen"], story)
            self.assertIn(group["expected"], story)
            self.assertIn(group["at"], story)
            self.assertEqual(self.count(f"#g{i} .followers > li"), len(group["followers"]))
        self.get("document.querySelector('.followers summary').click()")
        self.get("new Promise(done => setTimeout(done, 50))")
        self.assertIn("Expected", self.text(".followers li"))

    def test_nothing_broke(self):
        report, _ = self.check(trace="run", code=0)
        self.open(report)
        self.assertEqual(self.text("h1"), "No violation")
        self.assertEqual(self.count(".story"), 0)
        self.assertGreater(self.count(".invariant"), 5)

    def test_timeline(self):
        self.write_ranks(["zero_grad"], ["frozen"], [])
        report, _ = self.check(trace="ranks")
        self.open(report)
        names = self.get("[...document.querySelectorAll('svg text')].map(t => t.textContent)")
        self.assertEqual([x for x in names if x.startswith("rank")], ["rank 0", "rank 1", "rank 2"])
        heights = self.get("[...document.querySelectorAll('svg circle')].map(c => c.getAttribute('cy'))")
        self.assertEqual(len(set(heights)), 2)  # rank 2 is well
        self.assertEqual(self.get("document.querySelector('svg a').getAttribute('href').slice(0, 2)"), "#g")

    def test_several_runs_are_told_apart(self):
        runs.write_run(self.work / "worse", broken=["frozen"], exit=3)
        report, _ = self.check("worse")
        self.open(report)
        names = self.get("[...document.querySelectorAll('svg .lane-name')].map(t => t.lastChild.data)")
        self.assertEqual(names, ["bad", "worse"])
        for story in self.get("[...document.querySelectorAll('.story > .where')].map(p => p.innerText)"):
            self.assertRegex(story, "run (bad|worse)")
        self.assertIn("in 2 runs: bad, worse", self.text("#stories"))
        self.assertIn("2 runs were judged together", self.text("#top"))
        self.assertIn("The run worse failed: exit status 3", self.text("#top"))
        self.assertIn("exit status 3", self.text("#run"))

    def test_one_run_that_failed(self):
        runs.write_run(self.work / "ended", exit=3)
        report, _ = self.check(trace="ended", code=0)
        self.open(report)
        self.assertIn("The run itself failed: exit status 3", self.text("#top"))

    def test_search(self):
        report, _ = self.check()
        self.open(report)
        invariants = sum(len(runs.json_lines(report / f"{v}.log")) for v in ("failed", "passed", "not_triggered"))
        self.assertEqual(self.count(".invariant"), invariants)
        self.get("(() => { const q = document.querySelector('.search input'); q.value = 'ZERO_GRAD gradient';"
                 " q.dispatchEvent(new Event('input')); })()")
        found = self.get("[...document.querySelectorAll('.invariant')].map(i => i.innerText.toLowerCase())")
        self.assertTrue(0 < len(found) < invariants)
        for text in found:
            self.assertIn("zero_grad", text)
            self.assertIn("gradient", text)
        self.get("document.querySelector('.counts .failed').click()")
        self.assertEqual(self.count(".invariant"), len(runs.json_lines(report / "failed.log")))

    def test_text_of_a_trace_stays_text(self):
        for kind in ("run", "bad"):
            runs.write_run(self.work / f"{kind}2", name=HOSTILE, at=HOSTILE, broken=self.BROKEN if kind == "bad" else (),
                           host=HOSTILE)
        runs.run("infer", "-q", "run2", "-o", "bad2.jsonl", cwd=self.work, code=0)
        (self.work / "known").write_text(f"EC-00000000 {HOSTILE}\n", encoding="utf-8")
        report, _ = self.check("--suppress", "known", trace="bad2")
        self.open(report)
        self.assertIn("TrainCheck", self.get("document.title"))
        self.assertNotIn("taken", self.get("document.title"))
        self.assertEqual(self.count("script"), 2)
        self.assertEqual(self.count("img"), 0)
        self.assertIn(HOSTILE.replace("\u2028", ""), self.get("document.body.textContent").replace("\u2028", ""))

    def test_on_paper(self):
        report, _ = self.check()
        self.open(report, 794, 1123, media="print")
        self.get("document.querySelectorAll('details').forEach(d => { d.open = false; })")
        self.get("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.count(".followers details:not([open]):not(.aside)"), 0)
        shown = "x => getComputedStyle(x).display !== 'none'"
        self.assertEqual(self.get(f"[...document.querySelectorAll('.search')].filter({shown}).length"), 0)
        printed = self.get(f"[...document.querySelectorAll('.invariant')].filter({shown}).map(x => x.id.slice(2))")
        self.assertEqual(sorted(printed), sorted(i["id"] for i in runs.json_lines(report / "failed.log")))

    def test_ten_thousand_violations(self):
        write_many(self.work, 10000)
        report, _ = self.check(trace="many")
        summary = json.loads((report / "violations_summary.json").read_text())
        self.assertEqual(summary["counts"]["failed"], 10000)
        self.open(report)
        self.assertIn("10,000", self.text("h1"))
        self.assertLess(self.count("*"), 10000)  # what is not seen is not built
        shown = self.count(".story")
        self.get("document.querySelector('#stories .more').click()")
        self.assertGreater(self.count(".story"), shown)


if __name__ == "__main__":
    if "--pictures" in sys.argv:
        i = sys.argv.index("--pictures")
        PICTURES = pathlib.Path(sys.argv[i + 1])
        del sys.argv[i:i + 2]
    runs.main()
