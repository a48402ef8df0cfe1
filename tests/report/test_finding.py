#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One finding for each cause: where a run departs from the healthy ones leads what it breaks."""

import hashlib
import json
import re
import unittest

import runs
from trace_writer import Trace

# A line of the script, and what it calls in a step: optimizer.zero_grad() is ZERO and so on.
SCRIPT = """import torch
net = Net()
optimizer = SGD(net)
for i in range(20):
    optimizer.zero_grad()
    batch = torch.roll(data, 1)
    loss = net(batch)
    loss.backward()
    norm = clip(net, 1.0)
    optimizer.step()
    log(torch.item(loss))
"""
ZERO, ROLL, CLIP, ITEM = "    optimizer.zero_grad()\n", "    batch = torch.roll(data, 1)\n", "    norm = clip(net, 1.0)\n", "    log(torch.item(loss))\n"


def write(folder, script=SCRIPT, steps=20, skips=None, frozen=False, quiet=20, options=None, **process):
    """What the lines of the script call, from the first step on; skips: {a part of a line: the step from which on it is skipped}. From
    step quiet on the optimizer changes one variable and not two. options: of the command line, which a function is given and which are
    saved."""
    t = Trace(folder, **process)
    t.write({"type": "source", "at": "train.py", "digest": hashlib.sha256(script.encode()).hexdigest()[:16], "text": script})
    net = t.net("w", "b")
    if options:
        t.op("__main__.build", role="own", at="train.py:2", args={"options": {"dict": options}})
    t.stage = "training"
    rate = re.search(r"lr=([\d.]+)", script)
    optimizer = t.optimizer(net, lr=float(rate[1])) if rate else t.optimizer(net)
    for i in range(steps):
        for number, line in enumerate(script.splitlines(), 1):
            at = f"train.py:{number}"
            if any(part in line and i >= first for part, first in (skips or {}).items()):
                continue
            if "zero_grad" in line:
                t.zero_grad(optimizer, at=at)
            elif "net(batch)" in line:
                t.forward(net, at=at)
            elif "backward" in line:
                t.backward(net, at=at)
            elif "optimizer.step" in line:
                t.step(optimizer, at=at, changes=[] if frozen else net.parameters[:1] if i >= quiet else None)
            elif "lr=" in line and not i:
                t.op("torch.optim.SGD.__init__", role="make", at=at, args={"lr": optimizer["lr"]})
            elif "clip(" in line:
                t.op("torch.nn.utils.clip_grad_norm_", role="clip", at=at, args={"max_norm": float(re.search(r", ([\d.]+)\)", line)[1])})
            elif "torch.roll" in line:
                t.op("torch.roll", at=at, args={"shifts": 1})
            elif "torch.item" in line:
                t.op("torch.Tensor.item", at=at)
        t.cut()
    if options:
        t.stage = "checkpointing"
        t.op("torch.save", role="save", at="train.py:3", args={"obj": {"dict": {"options": {"dict": options}}}})
    t.end()


def without(*lines, script=SCRIPT):
    for line in lines:
        assert line in script
        script = script.replace(line, "")
    return script


class Finding(runs.Case):
    def setUp(self):
        super().setUp()
        for name in "healthy", "healthy_too":
            write(self.work / name)
        self.infer("own.jsonl")

    def infer(self, output, *more):
        runs.run("infer", "-q", "--specific", *more, "healthy", "healthy_too", "-o", output, cwd=self.work, code=0)

    def findings(self, run, *more, invariants="own.jsonl", output="report"):
        """Those of a check, which must have broken something."""
        self.text = runs.run("check", run, "-i", invariants, "-o", output, "--overwrite", *more, cwd=self.work, code=1).stdout
        found = runs.json_lines(self.work / output / "findings.jsonl")
        self.assertEqual(sorted(i for f in found for i in f["violations"]),
                         sorted(v["id"] for v in runs.json_lines(self.work / output / "violations.jsonl")))
        return found

    def assert_leads(self, finding, sentence, at, when, kind="departure"):
        self.assertEqual([finding[key] for key in ("sentence", "at", "when", "kind")], [sentence, at, when, kind])

    # ---- one cause

    def test_a_call_that_is_gone(self):
        write(self.work / "run", without(ZERO))
        (finding,) = self.findings("run")
        self.assert_leads(finding, "Adam.zero_grad() is no longer called", "train.py:5", "from step 0 on")
        self.assertGreater(finding["n_violations"], 2)
        self.assertIn({"sign": "-", "line": 5, "text": ZERO.rstrip()}, finding["lines"])
        self.assertEqual((finding["what"], finding["of"], finding["healthy_run"]), ("missing", "calls", "healthy"))
        self.assertTrue(self.text.startswith("train.py:5"))
        self.assertIn("  -    5      optimizer.zero_grad()\n", self.text)

    def test_a_call_that_is_new(self):
        write(self.work / "run", SCRIPT.replace(ZERO, ZERO + ROLL.replace("batch", "more")))
        (finding,) = self.findings("run")
        self.assert_leads(finding, "roll() is a new call", "train.py:6", "from step 0 on")

    def test_a_call_that_is_skipped_later(self):
        script = SCRIPT.replace(ROLL, "    if i < 17: " + ROLL.lstrip())
        write(self.work / "run", script, skips={"torch.roll": 17})
        (finding,) = self.findings("run")
        self.assert_leads(finding, "roll() is no longer called", "train.py:6", "from step 17 on")

    def test_a_call_that_data_skips(self):
        """Nothing was edited, and both runs make such a call: what the run was given may decide how often."""
        write(self.work / "run", skips={"torch.roll": 17})
        (finding,) = self.findings("run")
        self.assertEqual((finding["kind"], finding["step"]), ("violation", 17))
        self.assertNotIn("healthy_run", finding)

    def test_what_healthy_runs_break_now_and_then(self):
        """A gradient may be too small to change a bias. It is a remark if nothing else broke, and no edit explains it."""
        write(self.work / "run", quiet=15)
        self.text = runs.run("check", "run", "-i", "own.jsonl", "-o", "report", cwd=self.work, code=0).stdout
        (finding,) = runs.json_lines(self.work / "report" / "findings.jsonl")
        self.assertEqual((finding["kind"], finding["n_violations"]), ("remark", 1))
        self.assertTrue(self.text.startswith("also: "), self.text)
        for fails, code in ("law", 0), ("remark", 1):
            runs.run("check", "run", "-i", "own.jsonl", "-o", "report", "--overwrite", "--fail-on", fails, cwd=self.work, code=code)
        write(self.work / "two", quiet=15, skips={"torch.roll": 17})
        self.assertNotIn("remark", [f["kind"] for f in self.findings("two")])

    def test_an_edit_of_which_no_call_tells(self):
        """As of a number of Python: what was edited leads all the same."""
        write(self.work / "run", SCRIPT.replace("Net()", "Net(0)"), frozen=True)
        (finding,) = self.findings("run")
        self.assertEqual((finding["at"], finding["when"]), ("train.py:2", "since this edit"))
        said = {v["id"]: v["seen"] for v in runs.json_lines(self.work / "report" / "violations.jsonl")}
        self.assertEqual(said[finding["sentence_of"]], finding["sentence"])
        self.assertNotIn(finding["sentence"], [told["seen"] for told in finding["told"]])
        self.assertEqual((finding["what"], finding["of"], finding["healthy_at"]), ("edited", "sources", "train.py:2"))
        self.assertEqual([(x["sign"], x["text"]) for x in finding["lines"] if x["sign"] != " "], [("-", "net = Net()"), ("+", "net = Net(0)")])

    def test_of_two_edits_of_which_no_call_tells_one_is_a_guess(self):
        write(self.work / "run", SCRIPT.replace("Net()", "Net(0)").replace("for i in", "for k in"), frozen=True)
        (finding,) = self.findings("run")
        self.assertEqual(finding["when"], "perhaps since this edit")

    def test_nothing_departs_where_nothing_is_broken(self):
        """A departure accuses by itself of nothing."""
        write(self.work / "run", SCRIPT.replace("log(", "print("))
        runs.run("check", "run", "-i", "own.jsonl", "-o", "report", cwd=self.work, code=0)
        self.assertEqual((self.work / "report" / "findings.jsonl").read_text(), "")

    # ---- two causes

    def test_two_edits_that_share_no_word(self):
        write(self.work / "run", without(ZERO, CLIP))
        first, second = self.findings("run")
        self.assert_leads(first, "Adam.zero_grad() is no longer called", "train.py:5", "from step 0 on")
        self.assert_leads(second, "clip_grad_norm_() is no longer called", "train.py:8", "from step 0 on", "remark")
        self.assertIn("\nalso: train.py:8  clip_grad_norm_() is no longer called", self.text)
        self.assertEqual([f["healthy_at"] for f in (first, second)], ["train.py:5", "train.py:9"])
        self.assertEqual(set(first["violations"]) & set(second["violations"]), set())
        both, alone = {*first["violations"], *second["violations"]}, set()
        for line in ZERO, CLIP:
            write(self.work / f"run{len(alone)}", without(line))
            (finding,) = self.findings(f"run{len(alone)}")
            alone |= set(finding["violations"])
        self.assertLessEqual(alone, both)

    def test_two_edits_that_share_a_word(self):
        """As of a variable that is made in one hunk and used in another."""
        script = SCRIPT.replace(ZERO, "    shifted = 1\n").replace(ITEM, "    log(shifted)\n")
        write(self.work / "run", script)
        (finding,) = self.findings("run")
        self.assert_leads(finding, "Adam.zero_grad() is no longer called", "train.py:5", "from step 0 on")

    def test_a_second_one_that_begins_later(self):
        script = SCRIPT.replace(ITEM, "    if i < 17: " + ITEM.lstrip()).replace(ZERO, "")
        write(self.work / "run", script, skips={"torch.item": 17})
        first, second = self.findings("run")
        self.assert_leads(first, "Adam.zero_grad() is no longer called", "train.py:5", "from step 0 on")
        self.assertEqual((second["kind"], second["step"], second["at"]), ("remark", 17, "train.py:10"))
        self.assertIn("Tensor.item() is no longer called", second["sentence"])

    def test_one_that_was_there_before_is_no_cause(self):
        """What breaks at step 17 was whole at another rate, too, which is a setting then."""
        rated = SCRIPT.replace("SGD(net)", "SGD(net, lr=0.1)")
        for name in "healthy", "healthy_too":
            write(self.work / name, rated)
        self.infer("own.jsonl", "--overwrite")
        write(self.work / "run", rated.replace("lr=0.1", "lr=0.2").replace(CLIP, "    if i < 17: " + CLIP.lstrip()), skips={"norm =": 17})
        law, setting = self.findings("run")
        self.assert_leads(law, "clip_grad_norm_() is no longer called", "train.py:9", "from step 17 on")
        self.assert_leads(setting, "SGD.__init__(): lr is 0.2, was 0.1", "train.py:3", "first in step 0", "setting")

    def test_a_second_one_where_nothing_was_edited(self):
        write(self.work / "run", skips={"zero_grad": 0, "clip(": 17})
        first, second = self.findings("run")
        self.assertEqual([(f["step"], f["kind"]) for f in (first, second)], [(0, "departure"), (17, "violation")])
        self.assertIn("clip_grad_norm_() is missing", self.text)

    # ---- settings

    def test_a_setting_that_was_changed(self):
        write(self.work / "run", SCRIPT.replace("1.0", "2.5"))
        (finding,) = self.findings("run")
        self.assertEqual((finding["kind"], finding["at"], finding["was"], finding["is"]), ("setting", "train.py:9", "1.0", "2.5"))
        self.assertTrue(self.text.startswith("changed settings of the script, wrong only if they are not meant:\ntrain.py:9"), self.text)
        runs.run("check", "run", "-i", "own.jsonl", "-o", "law", "--fail-on", "law", cwd=self.work, code=0)

    def test_what_an_edit_computes_is_no_setting(self):
        """The number is another one as the script computes another way, and nobody has chosen it."""
        write(self.work / "run", SCRIPT.replace("clip(net, 1.0)", "clip(nets, 2.5)"))
        (finding,) = self.findings("run", "--fail-on", "law")
        self.assertEqual((finding["kind"], finding["at"], finding["was"], finding["is"]), ("departure", "train.py:9", "1.0", "2.5"))

    def test_what_the_command_line_chooses_is_a_setting(self):
        """Beside an edit that computes another way."""
        write(self.work / "run", SCRIPT.replace("clip(net, 1.0)", "clip(nets, 2.5)"), argv=["train.py", "--clip", "2.5"])
        runs.run("check", "run", "-i", "own.jsonl", "-o", "report", "--fail-on", "law", cwd=self.work, code=0)

    def test_what_has_the_name_of_an_option_is_a_setting(self):
        """A flag is one, where the command line has it, and so is an option that was not given before. So are more options in what is
        saved, and not fewer."""
        options = {"rate": 0.1, "name": None, "always_save": False}
        for name in "healthy", "healthy_too":
            write(self.work / name, options=options)
        self.infer("own.jsonl", "--overwrite")
        changed = {"rate": 0.1, "name": "x", "always_save": True}
        for argv, given, code in ((["--always-save", "--name", "x"], changed, 0), ([], changed, 1), ([], {**options, "clip": 1.0}, 0),
                                  ([], {"rate": 0.1, "name": None}, 1)):
            write(self.work / "run", options=given, argv=["train.py", *argv])
            runs.run("check", "run", "-i", "own.jsonl", "-o", "report", "--overwrite", "--fail-on", "law", cwd=self.work, code=code)

    def test_a_setting_beside_a_law(self):
        write(self.work / "run", without(ZERO).replace("1.0", "2.5"))
        law, setting = self.findings("run")
        self.assertEqual([law["kind"], setting["kind"]], ["departure", "setting"])
        self.assertLess(self.text.index("zero_grad() is no longer"), self.text.index("changed settings of the script"))

    # ---- nothing to lie beside

    def test_without_excerpts_violations_lead(self):
        self.infer("bare.jsonl", "--no-excerpts")
        lines = [(self.work / name).read_text().splitlines() for name in ("bare.jsonl", "own.jsonl")]
        self.assertEqual([line for line in lines[1] if '"traincheck":"excerpt"' not in line], lines[0])
        self.assertEqual(len(lines[1]) - len(lines[0]), 2)
        write(self.work / "run", without(ZERO))
        found = self.findings("run", invariants="bare.jsonl")
        self.assertEqual({f["kind"] for f in found}, {"violation"})
        violations = {v["id"]: v for v in runs.json_lines(self.work / "report" / "violations.jsonl")}
        for f in found:
            head = violations[f["violations"][0]]
            self.assertEqual((f["sentence"], f["at"], f["hint"]), (head["seen"], head["at"], head["hint"]))
        self.assertNotIn("no-comparison", self.notes())
        ids = {i for f in found for i in f["violations"]}
        self.assertEqual(ids, {i for f in self.findings("run") for i in f["violations"]})

    def notes(self):
        return [note["code"] for note in json.loads((self.work / "report" / "violations_summary.json").read_text())["notes"]]

    SELECTION = {"apis": ["torch.optim.Optimizer.step", "torch.optim.Optimizer.zero_grad", "torch.Tensor.backward",
                          "torch.nn.Module.__call__"]}

    def test_a_selective_run_departs_in_what_it_records(self):
        """The excerpts of full runs are read no further than the run is recorded."""
        write(self.work / "run", without(ZERO), mode="selective", selection=self.SELECTION)
        found = self.findings("run")
        self.assertEqual([f["kind"] for f in found], ["departure"])
        self.assertRegex(found[0]["sentence"], r"zero_grad\(\) is no longer called")
        self.assertNotIn("no-comparison", self.notes())

    def test_a_selective_run_is_no_example(self):
        """Of a healthy run that was recorded selectively it is not known what it called besides."""
        write(self.work / "half", mode="selective", selection=self.SELECTION)
        for output in (["-o", "half.jsonl"], ["--evidence", "half.tce"]):
            p = runs.run("infer", "-q", "--specific", "healthy", "half", *output, cwd=self.work, code=2)
            self.assertIn("half was traced by collect -i", p.stderr)
            self.assertFalse((self.work / output[1]).exists())
        p = runs.run("infer", "half", "-o", "half.jsonl", cwd=self.work, code=0)
        self.assertIn("nothing is learned of what it was not asked for", p.stderr)

    def test_a_selective_run_validates_what_it_was_asked_for(self):
        """The others are unchecked: neither had they no occasion, nor are they broken."""
        counts = []
        for name, process in (("whole", {}), ("half", {"mode": "selective", "selection": self.SELECTION})):
            write(self.work / name, **process)
            p = runs.run("infer", "--specific", "healthy", "healthy_too", "--validate", name, "-o", f"{name}.jsonl", cwd=self.work, code=0)
            self.assertEqual(len(runs.json_lines(self.work / f"{name}.jsonl")), len(runs.json_lines(self.work / "own.jsonl")))
            counts.append([int(x or 0) for x in re.search(
                r"(\d+) of them held on 1 held-out trace, (\d+) had no occasion to(?:, (\d+) unchecked: not traced there)?", p.stderr).groups()])
        whole, half = counts
        self.assertEqual(sum(half), sum(whole))
        self.assertEqual((whole[2], half[1]), (0, whole[1]))
        self.assertGreater(min(half[0], half[2]), 0)

    def test_a_selective_run_is_accepted_as_far_as_it_goes(self):
        """What it was not asked for stays as it was learned, and so does what healthy runs called."""
        write(self.work / "run", without(ZERO), mode="selective", selection=self.SELECTION)
        before = (self.work / "own.jsonl").read_text().splitlines()
        runs.run("check", "run", "-i", "own.jsonl", "-o", "report", "--accept", cwd=self.work, code=0)
        after = (self.work / "own.jsonl").read_text().splitlines()
        kept = [x for x in before if '"traincheck":"excerpt"' in x or "torch.roll" in x]
        self.assertGreater(len(kept), 2)
        self.assertEqual([x for x in kept if x not in after], [])
        runs.run("check", "run", "-i", "own.jsonl", "-o", "again", cwd=self.work, code=0)

    def test_a_run_of_which_nothing_says_that_it_is_this_program(self):
        """Without sources, and of another program: what differs is no departure."""
        write(self.work / "run", without(ZERO))
        file = next((self.work / "run").iterdir())
        records = [line for line in file.read_text().splitlines(keepends=True) if json.loads(line)["type"] != "source"]
        file.write_text("".join(records))
        found = self.findings("run")
        self.assertEqual({f["kind"] for f in found}, {"violation"})
        self.assertIn("no-comparison", self.notes())

    def test_several_runs(self):
        """Each is laid beside the healthy ones by itself."""
        write(self.work / "run", without(ZERO))
        write(self.work / "other", without(ITEM))
        p = runs.run("check", "run", "other", "-i", "own.jsonl", "-o", "report", cwd=self.work, code=1)
        found = runs.json_lines(self.work / "report" / "findings.jsonl")
        self.assertEqual([(f["trace"], f["sentence"]) for f in found],
                         [("run", "Adam.zero_grad() is no longer called"), ("other", "Tensor.item() is no longer called")])
        self.assertIn(", of other", p.stdout.replace("\n", " "))

    # ---- whoever reads

    def test_results_do_not_depend_on_threads_and_on_when(self):
        script = SCRIPT.replace(ITEM, "    if i < 17: " + ITEM.lstrip()).replace(ZERO, "")
        write(self.work / "run", script, skips={"torch.item": 17})
        self.assertEqual(len(self.findings("run", "-j", 1, output="one")), 2)
        self.findings("run", "-j", 2, output="two")
        runs.run("onlinecheck", "run", "-i", "own.jsonl", "-o", "live", cwd=self.work, code=1)
        for name in "findings.jsonl", "violations.jsonl", "failed.log":
            text = (self.work / "one" / name).read_text()
            for other in "two", "live":
                self.assertEqual(text, (self.work / other / name).read_text(), (other, name))

    def test_excerpts_do_not_depend_on_the_order_of_traces(self):
        runs.run("infer", "-q", "--specific", "healthy_too", "healthy", "-j", 2, "-o", "turned.jsonl", cwd=self.work, code=0)
        lines = [(self.work / name).read_text().splitlines()[1:] for name in ("own.jsonl", "turned.jsonl")]
        self.assertEqual(lines[0], lines[1])


if __name__ == "__main__":
    runs.main()
