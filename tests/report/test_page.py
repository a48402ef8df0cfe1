#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html in a browser without a window. --pictures DIR leaves pictures of it there."""

import json
import pathlib
import shutil
import sys

import runs
import scenes
from browser import Pages
from trace_writer import Trace

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\u2028&amp;<!--"
PICTURES = None
SIZES = ((1280, 900), (390, 800))
LARGEST, SLOWEST = 3_000_000, 1.0  # bytes of a page; seconds until it is painted


def write_many(folder, n, ranks=1):
    """n calls of as many functions with an operand that is 0, on each rank, and invariants that want -1."""
    lines = []
    t = Trace(folder / "many", rank=0 if ranks > 1 else None, world=ranks, pid=1)
    model = t.net("w")
    optimizer = t.optimizer(model)
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
    _, after_first = pathlib.Path(t.file.name).read_bytes().split(b"\n", 1)
    for rank in range(1, ranks):
        other = Trace(folder / "many", rank=rank, world=ranks, pid=rank + 1)
        other.file.close()
        with open(other.file.name, "ab") as file:
            file.write(after_first)
    (folder / "many.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))


def axe():
    """The text of axe-core, of a package of tests/report/requirements.txt, or None."""
    for root in (runs.ROOT / "build" / "readers", pathlib.Path(sys.prefix)):
        for path in root.glob("lib/python*/site-packages/axe_*python/axe.min.js"):
            return path.read_text(encoding="utf-8")
    return None


# Of rows and entries that differ in their text alone, it leaves the first.
DROP_ALIKE = """(() => {
    const look = e => [e, ...e.querySelectorAll('*')].map(x => x.tagName + x.className).join();
    for (const list of new Set([...document.querySelectorAll('.invariant, li, tr')].map(e => e.parentNode))) {
        const seen = new Set();
        for (const e of [...list.children]) {
            if (seen.has(look(e)))
                e.remove();
            seen.add(look(e));
        }
    }
})()"""


class Page(Pages, runs.Case):
    def open(self, report, width=1280, height=900, **how):
        self.open_page(report / "report.html", width, height, **how)
        self.assertEqual(self.get("document.documentElement.dataset.ready"), "true")

    def count(self, selector):
        return self.get(f"document.querySelectorAll({json.dumps(selector)}).length")

    def text(self, selector):
        return self.get(f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector):
        return self.get(f"[...document.querySelectorAll({json.dumps(selector)})].map(x => x.innerText)")

    def scene(self, name):
        """The page of a scene, and what its findings are; nothing else is left in the folder."""
        for old in self.work.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        names = scenes.SCENES[name](self.work)
        runs.run("infer", "-q", "--specific", "healthy0", "healthy1", "-o", "scene.jsonl", cwd=self.work, code=0)
        runs.run("check", *names, "-i", "scene.jsonl", "-o", "scene.report", cwd=self.work, code=1)
        return self.work / "scene.report", runs.json_lines(self.work / "scene.report" / "findings.jsonl")

    def test_changed_settings_stand_apart(self):
        self.write_settings()
        report, _ = self.check(trace="rate")
        self.open(report)
        self.assertEqual(self.text("h1"), "1 setting of the script changed, no law was broken")
        self.assertEqual(self.text("#findings h2"), "Changed settings of the script")
        report, _ = self.check(trace="both")
        self.open(report, 390, 800)
        self.assertEqual(self.text("h1"), "One finding")
        self.assertEqual(self.text("#findings h2"), "Findings")

    def test_every_size_and_scheme(self):
        report, _ = self.check()
        grounds = set()
        for width, height in SIZES:
            for dark in (False, True):
                self.open(report, width, height, dark=dark)
                grounds.add(self.get("getComputedStyle(document.body).backgroundColor"))
                self.get("dispatchEvent(new Event('beforeprint'))")
                cells = self.get("[...document.querySelectorAll('.variables td + td:not(:empty)')].map(x => x.clientHeight)")
                self.assertTrue(cells)
                self.assertLess(max(cells), 40)  # no word is broken
                self.assertLessEqual(self.get("document.documentElement.scrollWidth"), width)
        self.assertEqual(len(grounds), 2)

    def test_scenes(self):
        """What is told of each, in every size; pictures of it with --pictures; nothing for axe-core to say."""
        for name in ("two_findings", "two_runs", "ranks"):
            with self.subTest(name):
                report, findings = self.scene(name)
                for width, height in SIZES:
                    for dark in (False, True):
                        self.open(report, width, height, dark=dark)
                        self.assertEqual(self.texts("h3"), [f["sentence"] for f in findings])
                        if PICTURES:
                            PICTURES.mkdir(parents=True, exist_ok=True)
                            self.browser.picture(PICTURES / f"{name}_{width}{'_dark' if dark else ''}.png")
                        if dark == (width == SIZES[0][0]):  # each size and each scheme once: it takes seconds
                            self.check_with_axe()

    def check_with_axe(self):
        text = axe()
        if not text:
            return
        self.get("document.querySelectorAll('details').forEach(d => { if (!d.open) unfold(d); })")
        self.get("(() => {" + text + "})()")
        self.assertEqual(self.axe_finds("rules: { 'color-contrast': { enabled: false } }"), [])
        self.get(DROP_ALIKE)  # what is behind each word takes longer than all other rules
        self.assertEqual(self.axe_finds("runOnly: ['color-contrast']"), [])

    def axe_finds(self, rules):
        return self.get("axe.run(document, { resultTypes: ['violations'], " + rules + " }).then("
                        "r => r.violations.map(v => `${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`))")

    def test_verdict_first_then_findings(self):
        report, _ = self.check()
        summary = json.loads((report / "violations_summary.json").read_text())
        violations = {v["id"]: v for v in runs.json_lines(report / "violations.jsonl")}
        self.open(report)
        self.assertEqual(self.get("document.querySelector('body *').id"), "top")
        self.assertRegex(self.text("h1"), "(?i)^(one|[0-9]+) findings?$")
        self.assertIn(f"{summary['counts']['failed']} invariants broke", self.text("#top"))
        self.assertEqual(self.count(".finding"), len(summary["findings"]))
        self.get("dispatchEvent(new Event('beforeprint'))")
        for i, f in enumerate(summary["findings"], 1):
            told = self.text(f"#f{i}")
            self.assertIn(f["sentence"], told)
            self.assertIn(f["at"].split("/")[-1], told)
            self.assertIn(violations[f["violations"][0]]["expected"], told)
            self.assertEqual(self.count(f"#f{i} .followers > li"), f["n_violations"] - 1)
        self.assertIn("Expected", self.text(".followers li"))

    def test_nothing_broke(self):
        report, _ = self.check(trace="run", code=0)
        self.open(report)
        self.assertEqual(self.text("h1"), "Nothing was found")
        self.assertEqual(self.count(".finding"), 0)
        self.assertEqual(self.count(".invariant"), 0)  # folded
        self.get("unfold(document.querySelector('#invariants details'))")
        self.assertGreater(self.count(".invariant"), 5)

    def test_a_departure_opens_its_lines_and_the_loss(self):
        report, findings = self.scene("two_runs")
        self.open(report)
        self.assertEqual(self.texts("#f1 .sides del code"), ["        optimizer.zero_grad()"])
        self.assertEqual(self.count("#f1 .sides > .o"), self.count("#f1 .sides > .n"))
        self.assertEqual(self.texts("#f1 .legend span"), ["this run", "healthy runs"])
        self.assertEqual(self.texts("#f1 span.mark"), ["finding 1, step 0"])
        self.assertEqual(self.count("#f1 path.band1"), 2)  # and in the legend
        self.assertIn("model.w still had the gradient", self.text("#f1 .told"))
        self.assertFalse(self.get("document.querySelector('#f2 details').open"))
        self.get("location.hash = '#f2'")
        self.get("new Promise(done => setTimeout(done, 50))")
        self.assertTrue(self.get("document.querySelector('#f2 details').open"))
        self.assertEqual(findings[1]["kind"], "setting")

    def test_the_course_of_the_learning_rate(self):
        report, findings = self.scene("other_rate")
        self.assertRegex(findings[0]["sentence"], r"\blr\b")
        self.open(report)
        self.assertEqual(self.texts("#f1 h4")[:2], ["Learning rate", "Loss"])
        self.assertEqual(self.get("document.querySelector('#f1 .loss').querySelectorAll('.plot .band1').length"), 1)
        self.assertEqual(self.get("document.querySelector('#f1 .plot svg').getAttribute('aria-label')"),
                         "The learning rate, step by step. this run goes from 0.4 in step 0 to 0.05 in step 59.")
        report, _ = self.scene("two_runs")
        self.open(report)
        self.assertNotIn("Learning rate", self.texts("#f1 h4"))

    def test_who_the_runs_are(self):
        report, _ = self.scene("two_findings")
        self.open(report)
        for word in ("train.py --lr 0.3", "reached step 59", "exit status 1", "Python 3.12.4", "torch 2.13.0", "node-07", "2025-10-10 09:53 UTC"):
            self.assertIn(word, self.text(".identity"))
        self.get("unfold(document.querySelector('#top details'))")
        self.assertEqual(self.texts(".about thead th"), ["this run", "healthy run healthy0", "healthy run healthy1"])
        self.assertEqual(self.texts(".about .differs"), ["--lr 0.3"])

    def test_findings_by_step(self):
        self.write_ranks(["zero_grad"], ["frozen"], [])
        report, _ = self.check(trace="ranks")
        self.open(report)
        names = self.texts(".lane-name")
        self.assertEqual([x for x in names if x.startswith("rank")], ["ranks 0, 1", "rank 2"])
        self.assertEqual(self.get("[...document.querySelectorAll('.lane')].filter(l => l.querySelector('.dot')).length"), 1)  # rank 2 is well
        self.assertEqual(self.get("document.querySelector('.dot').getAttribute('href').slice(0, 2)"), "#f")
        self.assertIn("Steps 0 to", self.text(".status"))
        self.get("unfold(document.querySelector('#steps details'))")
        self.assertTrue(all(x.endswith("each step") for x in self.texts("#steps tbody tr")))

    def test_ten_steps_to_a_million(self):
        report, _ = self.check()
        self.open(report)
        self.get("""(() => { const f = lanes.find(l => l.spread); whole = [0, 999999];
            f.stretches = [{ range: [5, 5], n: 1 }, { range: [16384, 32767], n: 16384 }, { range: [999999, 999999], n: 1 }]; show(...whole); })()""")
        self.assertIn("a cell is 4,167 steps", self.text(".status"))
        self.assertEqual(self.count(".lane:nth-child(2) .heat4"), 0)
        self.get("show(16000, 17000)")
        self.assertEqual(self.count(".lane:nth-child(2) .heat4"), 1)  # it is not known in which
        self.get("show(5, 5)")
        self.assertIn("Steps 5 to 14; a cell is one step", self.text(".status"))
        self.assertEqual(self.count(".lane:nth-child(2) path"), 1)
        key = "document.querySelector('.heatmap').dispatchEvent(new KeyboardEvent('keydown', { key: '%s' }))"
        self.get(key % "-")
        self.assertIn("Steps 0 to 19", self.text(".status"))
        self.get(key % "ArrowRight")
        self.assertIn("Steps 5 to 24", self.text(".status"))
        self.get(key % "Home")
        self.assertIn("Steps 0 to 999,999", self.text(".status"))

    def test_several_runs_are_told_apart(self):
        runs.write_run(self.work / "worse", broken=["frozen"], exit=3)
        report, _ = self.check("worse", "run")
        self.open(report)
        names = [x for x in self.texts("span.lane-name") if x != "step"]
        self.assertEqual(names, ["bad", "run", "worse"])
        for finding in self.texts(".finding summary .where"):
            self.assertRegex(finding, "runs? (bad|worse)")
        self.get("dispatchEvent(new Event('beforeprint'))")
        self.assertIn("runs bad, worse", self.text("#findings"))
        self.assertIn("3 runs were judged together", self.text("#top"))
        self.assertIn("The run worse failed: exit status 3", self.text("#top"))
        verdicts = self.texts(".runs li")
        self.assertRegex(verdicts[0], "bad [0-9]+ finding")
        self.assertRegex(verdicts[1], "worse [0-9]+ finding.*exit status 3")
        self.assertRegex(verdicts[2], "run nothing found")

    def test_one_run_that_failed(self):
        runs.write_run(self.work / "ended", exit=3)
        report, _ = self.check(trace="ended", code=0)
        self.open(report)
        self.assertIn("The run itself failed: exit status 3", self.text("#top"))

    def test_search(self):
        report, _ = self.check()
        self.open(report)
        self.get("unfold(document.querySelector('#invariants details'))")
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
        self.assertEqual(self.count(".finding details:not([open]):not(.aside):not(.loss details)"), 0)
        shown = "x => getComputedStyle(x).display !== 'none'"
        self.assertEqual(self.get(f"[...document.querySelectorAll('.search')].filter({shown}).length"), 0)
        printed = self.get(f"[...document.querySelectorAll('.invariant')].filter({shown}).map(x => x.id.slice(2))")
        self.assertEqual(sorted(printed), sorted(i["id"] for i in runs.json_lines(report / "failed.log")))

    def test_ten_thousand_violations(self):
        for ranks in (1, 16):
            for old in self.work.glob("many*"):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            write_many(self.work, 10000, ranks)
            report, _ = self.check(trace="many")
            summary = json.loads((report / "violations_summary.json").read_text())
            self.assertEqual(summary["counts"]["failed"], 10000)
            self.open(report)
            seconds, size = self.browser.open(report / "report.html"), (report / "report.html").stat().st_size
            print(f"10,000 violations on {ranks} ranks: {size} bytes, painted after {seconds:.2f} s", file=sys.stderr)
            self.assertLessEqual(size, LARGEST)
            self.assertLessEqual(seconds, SLOWEST)
            self.assertIn("10,000", self.text("#top"))
            self.assertLess(self.count("*"), 10000)  # what is not seen is not built
            shown = self.count(".finding")
            self.get("document.querySelector('#findings .more').click()")
            self.assertGreater(self.count(".finding"), shown)


if __name__ == "__main__":
    if "--pictures" in sys.argv:
        i = sys.argv.index("--pictures")
        PICTURES = pathlib.Path(sys.argv[i + 1])
        del sys.argv[i:i + 2]
    runs.main()
