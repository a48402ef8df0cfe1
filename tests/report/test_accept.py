# SPDX-License-Identifier: Apache-2.0
"""traincheck-check --accept and traincheck-infer --diff: what is meant stops to accuse, what is not goes on to.

usage: test_accept.py --bin BUILD/bin [TEST...]
"""

import json
import os
import re
import shutil
import subprocess

import runs
import invariant_file
from trace_writer import Trace


class Accept(runs.Case):
    def setUp(self):
        super().setUp()
        for name in ("a", "b"):
            self.write(name)
        runs.run("infer", "-q", "--specific", "a", "b", "-o", "own.jsonl", cwd=self.work, code=0)

    def write(self, name, rate=0.1, clears=True, calls=("f", "g"), exit=0, result=None, cls="torch.optim.Adam", extra=None, **trace):
        t = Trace(self.work / name, **trace)
        model = t.net("w")
        optimizer = t.optimizer(model, cls=cls)
        for _ in range(5):
            if clears:
                t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)
            for i, fn in enumerate(calls):
                t.op(fn, args={"rate": rate}, at=f"train.py:{20 + i}", value=result)
            t.step(optimizer)
            if extra:
                t.step({**optimizer, "cls": extra})
            t.cut()
        t.end(exit)

    def judge(self, name, *args, code=1):
        return runs.run("check", name, "-i", "own.jsonl", "-o", f"{name}.report", "--overwrite", *args, cwd=self.work, code=code)

    def lines(self):
        return (self.work / "own.jsonl").read_text().splitlines()

    def invariants(self):
        return [x for x in invariant_file.read(self.work / "own.jsonl") if "relation" in x]

    def broken(self, name):
        return {v["id"] for v in runs.json_lines(self.work / f"{name}.report" / "violations.jsonl")}

    def test_what_is_accepted_passes_and_the_rest_stays_as_it_is(self):
        self.write("rate", rate=0.2)
        self.judge("rate")
        broken, before = self.broken("rate"), self.invariants()
        p = self.judge("rate", "--accept", "--note", "another rate, PR 312", code=0)
        self.assertRegex(p.stderr, rf"accepted in own.jsonl: {len(broken)} invariants say what this run shows, 0 that do not hold")
        after = self.lines()
        header = json.loads(after[0])
        self.assertEqual([(e["note"], e["runs"], e["replaced"], e["removed"]) for e in header["accepted"]],
                         [("another rate, PR 312", ["rate"], len(broken), 0)])
        self.assertRegex(header["accepted"][0]["date"], r"^\d{4}-\d\d-\d\d$")
        mine = [x for x in self.invariants() if "accepted" in x]
        self.assertEqual([x["accepted"] for x in mine], [1] * len(broken))
        self.assertEqual({x["params"][1]["is"] for x in mine}, {0.2})
        self.assertEqual([x for x in before if x["id"] not in broken], [x for x in self.invariants() if "accepted" not in x])
        self.judge("rate", code=0)
        self.judge("a")  # the old rate is another one now

    def test_a_bug_is_told_after_an_accepted_change(self):
        self.write("rate", rate=0.2)
        self.judge("rate", "--accept", code=0)
        self.write("bug", rate=0.2, clears=False)
        self.judge("bug")
        self.assertTrue(any(x.startswith("EC-") for x in self.broken("bug")))

    def test_what_does_not_hold_any_more_goes(self):
        self.write("less", calls=("f",))
        p = self.judge("less", "--accept", code=0)
        self.assertGreater(int(re.search(r", (\d+) that do", p.stderr)[1]), 0)
        self.judge("less", code=0)
        self.assertNotIn("PR", json.dumps(json.loads(self.lines()[0])["accepted"]))

    def test_accepts_add_up(self):
        for i, rate in enumerate((0.2, 0.3), 1):
            self.write(f"rate{i}", rate=rate)
            self.judge(f"rate{i}", "--accept", "--note", f"step {i}", code=0)
        self.assertEqual([e["note"] for e in json.loads(self.lines()[0])["accepted"]], ["step 1", "step 2"])
        self.assertEqual({x.get("accepted") for x in map(json.loads, self.lines()) if "id" in x}, {None, 2})

    # ---- what is new

    def by_subject(self, fn):
        return [x for x in self.invariants() if x["params"][0].get("fn") == fn]

    def test_a_call_that_is_new_is_known_from_then_on(self):
        self.write("more", calls=("f", "g", "h"))
        p = self.judge("more", "--accept", code=0)
        new = self.by_subject("h")
        self.assertRegex(p.stderr, rf", ([1-9]\d*) are new")
        self.assertGreater(len(new), 2)
        self.assertEqual({(x["seen"], x["accepted"], x["evidence"]["pipelines"]) for x in new}, {("once", 1, 1)})
        entry = json.loads(self.lines()[0])["accepted"][0]
        self.assertEqual(entry["new"], sum('"seen":"once"' in x for x in self.lines()))
        text = (self.work / "own.jsonl").read_text()
        self.judge("more", "--accept", code=0)
        self.assertEqual((self.work / "own.jsonl").read_text(), text)
        self.write("bug", rate=0.2, calls=("f", "g", "h"))
        self.judge("bug")
        self.assertLess({x["id"] for x in new if x["params"][1]["attribute"] == "value"}, self.broken("bug"))

    def test_a_second_run_confirms_what_was_seen_once(self):
        for name in ("more", "later"):
            self.write(name, calls=("f", "g", "h"))
        self.judge("more", "--accept", code=0)
        once = {x["id"] for x in self.by_subject("h")}
        self.learn("--add", "later", "-o", "own.jsonl")
        self.assertLessEqual(once, {x["id"] for x in self.by_subject("h")})
        self.assertNotIn('"seen"', (self.work / "own.jsonl").read_text())

    def test_a_number_that_a_new_call_returns_may_be_chance(self):
        """Until another run returns it, too."""
        for name in ("more", "later"):
            self.write(name, calls=("f", "g", "h"), result=0.25)
        self.judge("more", "--accept", code=0)

        def numbers():
            return [x["params"][1]["is"] for x in self.by_subject("h") if x["params"][1].get("operand") == "value"]

        self.assertNotIn(0.25, numbers())
        self.learn("--add", "later", "-o", "own.jsonl")
        self.assertIn(0.25, numbers())

    def test_nothing_is_new_in_a_trace_that_was_not_asked_for_everything(self):
        self.write("more", rate=0.2, calls=("f", "g", "h"), selection={"apis": ["f", "g", "torch.optim.Optimizer.step"]})
        self.judge("more", "--accept", code=0)
        self.assertEqual(self.by_subject("h"), [])
        self.assertEqual(json.loads(self.lines()[0])["accepted"][0]["new"], 0)

    # ---- new names

    def rename(self, before, after, **others):
        self.write("x", calls=before)
        self.write("y", calls=before)
        runs.run("infer", "-q", "--specific", "x", "y", "-o", "own.jsonl", "--overwrite", cwd=self.work, code=0)
        self.write("renamed", calls=after, **others)
        return self.judge("renamed", "--accept", code=0)

    def test_a_function_with_another_name_is_the_same_function(self):
        p = self.rename(("__main__.first", "__main__.scale"), ("__main__.first", "tools.rescale"))
        self.assertIn("__main__.scale is tools.rescale now: what was known of it is kept", p.stderr)
        self.assertRegex(p.stderr, ", 0 that do not hold any more are gone, 0 are new")
        self.assertEqual(json.loads(self.lines()[0])["accepted"][0]["renamed"], {"__main__.scale": "tools.rescale"})
        self.assertNotIn("__main__.scale", "\n".join(self.lines()[1:]))
        self.judge("renamed", code=0)
        self.write("bug", rate=0.2, calls=("__main__.first", "tools.rescale"))
        self.judge("bug")
        self.write("later", calls=("__main__.first", "tools.rescale"))
        self.learn("--add", "later", "-o", "own.jsonl")
        self.judge("later", code=0)

    def test_what_changed_with_the_name_is_replaced(self):
        p = self.rename(("__main__.first", "__main__.scale"), ("__main__.first", "tools.rescale"), rate=0.2)
        self.assertIn("__main__.scale is tools.rescale now", p.stderr)
        self.assertRegex(p.stderr, r": [1-9]\d* invariants say what this run shows")
        self.judge("renamed", code=0)

    def test_another_function_is_no_rename(self):
        self.rename(("__main__.first", "__main__.scale"), ("__main__.first",))
        self.assertNotIn("renamed", json.loads(self.lines()[0])["accepted"][0])

    def test_a_class_in_the_place_of_another_is_one_change(self):
        """What is known of the step, whatever optimizer makes it, is known of the new one."""
        (self.work / "before.jsonl").write_text((self.work / "own.jsonl").read_text())
        self.write("other", cls="torch.optim.SGD", rate=0.2)
        p = self.judge("other", "--accept", code=0)
        self.assertIn("torch.optim.Adam is torch.optim.SGD now: what was known of it is kept", p.stderr)
        self.assertRegex(p.stderr, ", 0 that do not hold any more are gone, 0 are new")
        self.assertNotIn("torch.optim.Adam", "\n".join(self.lines()[1:]))
        text = self.diff("before.jsonl", "own.jsonl", code=1)
        self.assertIn("\nanother name or class:\n  torch.optim.Adam is torch.optim.SGD now\n\n", text)
        self.assertRegex(text, r"^\d+ invariants as they were, [1-9]\d* with another value, 0 new, 0 gone")
        self.judge("other", code=0)
        self.write("bug", cls="torch.optim.SGD", rate=0.2, clears=False)
        self.judge("bug")

    def test_a_class_beside_another_has_no_place_of_it(self):
        """Both are there: nothing is told of the old one under the new name."""
        self.write("both", extra="torch.optim.SGD")
        p = self.judge("both", "--accept", code=None)
        self.assertNotIn(" now: ", p.stderr)

    # ---- a set grows

    def learn(self, *args, code=0):
        return runs.run("infer", "--specific", *args, cwd=self.work, code=code)

    def without_history(self, name):
        lines = (self.work / name).read_text().splitlines()
        header = json.loads(lines[0])
        history = header.pop("added", None)
        return history, [json.dumps(header)] + lines[1:]

    def test_a_run_that_is_added_is_a_run_that_was_learned_from(self):
        """In whatever order, and without the traces that were learned from before."""
        self.write("c", rate=0.1, calls=("f", "g", "f"))
        self.learn("a", "b", "c", "-o", "whole.jsonl")
        whole = self.without_history("whole.jsonl")
        self.assertIsNone(whole[0])
        for first, last in (("ab", "c"), ("bc", "a")):
            self.learn(*first, "-o", "grown.jsonl", "--overwrite")
            gone = [(self.work / name).rename(self.work / f"gone_{name}") for name in first]
            p = self.learn("--add", last, "-o", "grown.jsonl")
            self.assertRegex(p.stderr, r"[\d.]+ kB of it: evidence, so that --add can add a run later")
            for name, path in zip(first, gone):
                path.rename(self.work / name)
            history, lines = self.without_history("grown.jsonl")
            self.assertEqual([entry["runs"] for entry in history], [[last]])
            self.assertEqual(lines, whole[1])

    def test_what_is_accepted_stays_accepted_where_runs_are_added(self):
        for name, rate in (("rate", 0.2), ("later", 0.2)):
            self.write(name, rate=rate)
        self.judge("rate", "--accept", "--note", "another rate", code=0)
        accepted = {json.loads(x)["id"] for x in self.lines() if '"accepted"' in x and '"id"' in x}
        self.learn("--add", "later", "-o", "own.jsonl")
        self.judge("later", code=0)
        self.judge("a")
        grown = {x["id"]: x for x in self.invariants()}
        self.assertEqual({x["id"] for x in grown.values() if "accepted" in x}, accepted)
        self.assertEqual({grown[i]["params"][1]["is"] for i in accepted}, {0.2})
        self.assertEqual({grown[i]["evidence"]["held"] for i in accepted}, {10})
        header = json.loads(self.lines()[0])
        self.assertEqual(([e["note"] for e in header["accepted"]], [e["runs"] for e in header["added"]]), (["another rate"], [["later"]]))
        self.write("bug", rate=0.2, clears=False)
        self.judge("bug")

    def test_what_went_stays_away_where_runs_are_added(self):
        for name in ("less", "later"):
            self.write(name, calls=("f",))
        self.judge("less", "--accept", code=0)
        self.learn("--add", "later", "-o", "own.jsonl")
        self.judge("later", code=0)

    def test_an_invariant_of_a_person_stays(self):
        line = '{"relation":"APIArg/setting","params":[{"call":"f"},{"operand":"args.rate","is":0.1}]}'
        with (self.work / "own.jsonl").open("a") as f:
            f.write(line + "\n")
        self.write("c")
        self.learn("--add", "c", "-o", "own.jsonl")
        self.assertIn(line, self.lines())

    def test_what_cannot_be_added(self):
        before = self.lines()
        for args, why in ((["--add", "a", "-o", "own.jsonl"], "a was learned from already"),
                          (["--add", "a"], "give --specific and -o FILE"),
                          (["b", "--add", "a", "-o", "own.jsonl"], "b beside --add"),
                          (["--add", "a", "-o", "none.jsonl"], "none.jsonl: no such file to add to"),
                          (["--add", "none", "-o", "own.jsonl"], "none: no such trace")):
            self.assertIn(why, self.learn(*args, code=2).stderr)
        self.learn("a", "--no-evidence", "-o", "bare.jsonl")
        self.assertIn("bare.jsonl keeps no evidence", self.learn("--add", "b", "-o", "bare.jsonl", code=2).stderr)
        for damage in ('"zstd":"AAAA', '"zstd":"!'):
            text = (self.work / "own.jsonl").read_text().replace('"zstd":"KLUv', damage)
            (self.work / "damaged.jsonl").write_text(text)
            self.write("c")
            self.assertIn("damaged.jsonl:", self.learn("--add", "c", "-o", "damaged.jsonl", code=2).stderr)
        self.assertEqual(self.lines(), before)

    def diff(self, *args, code):
        return runs.run("infer", "--diff", *args, cwd=self.work, code=code).stdout

    def test_the_difference_of_two_files(self):
        (self.work / "before.jsonl").write_text("\n".join(self.lines()) + "\n")
        self.assertEqual(self.diff("before.jsonl", "own.jsonl", code=0).count("\n"), 1)
        self.write("other", rate=0.2, calls=("f",))
        self.judge("other", "--accept", code=0)
        text = self.diff("before.jsonl", "own.jsonl", code=1)
        counts = dict(re.findall(r"(\d+) (?:invariants )?(as they were|with another value|new|gone)", text)[k][::-1] for k in range(4))
        self.assertEqual(counts["new"], "0")
        self.assertRegex(text, r"another value:\n(?:.*\n)*?  value \(1\)\n  - (\S+)  rate of f\(\).* is 0\.1\S*.*\n  \+ \S+  rate of f\(\).* is 0\.2")
        self.assertIn("gone:\n", text)
        lines = [json.loads(x) for x in self.diff("before.jsonl", "own.jsonl", "--json", code=1).splitlines()]
        kinds = {what: sum(x["what"] == what for x in lines) for what in ("changed", "new", "gone")}
        self.assertEqual(kinds, {"changed": int(counts["with another value"]), "new": 0, "gone": int(counts["gone"])})
        self.assertGreater(min(kinds["changed"], kinds["gone"]), 0)
        self.assertEqual(dict(re.findall(r"(\d+) (new|gone)", self.diff("own.jsonl", "before.jsonl", code=1))[0:2][k][::-1] for k in range(2)),
                         {"new": counts["gone"], "gone": "0"})

    def test_claims_of_one_subject_are_paired_by_their_values(self):
        one = next(x for x in map(json.loads, self.lines()) if "is" in x.get("params", [{}, {}])[-1])
        for name, values in ("two", (1, 2)), ("turned", (2, 1)), ("other", (3, 2)), ("fewer", (2,)):
            lines = []
            for value in values:
                one["params"][1]["is"], one["id"] = value, f"AA-{value}"
                lines.append(json.dumps(one))
            (self.work / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        self.assertIn("2 invariants as they were, 0 with another value, 0 new, 0 gone", self.diff("two.jsonl", "turned.jsonl", code=0))
        self.assertIn("1 invariants as they were, 1 with another value, 0 new, 0 gone", self.diff("two.jsonl", "other.jsonl", code=1))
        text = self.diff("two.jsonl", "fewer.jsonl", code=1)
        self.assertIn("1 invariants as they were, 0 with another value, 0 new, 1 gone", text)
        self.assertIn("AA-1", text)

    def test_a_difference_tells_new_names(self):
        self.rename(("__main__.first", "__main__.scale"), ("__main__.first", "__main__.scale"))
        (self.work / "before.jsonl").write_text((self.work / "own.jsonl").read_text())
        self.write("renamed", rate=0.2, calls=("__main__.first", "tools.rescale"))
        self.judge("renamed", "--accept", code=0)
        text = self.diff("before.jsonl", "own.jsonl", code=1)
        self.assertIn("\nanother name or class:\n  __main__.scale is tools.rescale now\n", text)
        self.assertRegex(text, r"^\d+ invariants as they were, [1-9]\d* with another value, 0 new, 0 gone")
        lines = [json.loads(x) for x in self.diff("before.jsonl", "own.jsonl", "--json", code=1).splitlines()]
        self.assertEqual(lines[0], {"what": "renamed", "was": "__main__.scale", "is": "tools.rescale"})
        self.assertEqual({x["what"] for x in lines[1:]}, {"changed"})

    def test_a_difference_tells_what_was_accepted_and_what_was_seen_once(self):
        (self.work / "before.jsonl").write_text((self.work / "own.jsonl").read_text())
        self.write("more", calls=("f", "g", "h"))
        self.judge("more", "--accept", "--note", "a third call", code=0)
        text = self.diff("before.jsonl", "own.jsonl", code=1)
        self.assertRegex(text, r"\n\naccepted:\n  \d{4}-\d\d-\d\d  a third call\n\n")
        self.assertIn("  h() is called once in each step in training (seen once)\n", text)

    def test_git_shows_a_difference_in_sentences(self):
        """With the lines of docs/reviewing.md."""
        page = (runs.ROOT / "docs/reviewing.md").read_text()
        lines = [line.strip() for line in page.splitlines() if line.startswith("    ") and ("diff=" in line or "git config" in line)]
        self.assertEqual(len(lines), 2)
        (self.work / "invariants.jsonl").write_text((self.work / "own.jsonl").read_text())

        def git(command):
            env = {**os.environ, "PATH": f"{runs.BIN}:{os.environ['PATH']}"}
            return subprocess.run(["sh", "-ec", command], cwd=self.work, env=env, capture_output=True, text=True, check=True).stdout

        git(f"git init -q; {lines[0]}; {lines[1]}; git add invariants.jsonl .gitattributes")
        self.write("rate", rate=0.2)
        self.judge("rate", "--accept", code=0)
        shutil.copy(self.work / "own.jsonl", self.work / "invariants.jsonl")
        self.assertRegex(git("git diff"), r"(?s)\d+ invariants as they were, [1-9].* rate of f\(\) is 0\.2")

    def test_a_difference_needs_two_files(self):
        self.assertIn("--diff takes two invariant files, 1 is given", runs.run("infer", "--diff", "own.jsonl", cwd=self.work, code=2).stderr)
        (self.work / "x.jsonl").write_text('{"id":\n')
        self.assertIn("x.jsonl:1", runs.run("infer", "--diff", "own.jsonl", "x.jsonl", cwd=self.work, code=2).stderr)

    def test_what_cannot_be_accepted(self):
        self.write("same")
        before = self.lines()
        self.assertIn("nothing broke, and nothing is new: there is nothing to accept", self.judge("same", "--accept", code=0).stderr)
        self.write("failed", rate=0.2, exit=1)
        self.assertIn("the run itself failed, so nothing of it is accepted", self.judge("failed", "--accept", code=2).stderr)
        p = runs.run("check", "same", "-i", "@all", "--accept", cwd=self.work, code=2)
        self.assertIn("--accept writes into one file of invariants", p.stderr)
        p = runs.run("check", "same", "-i", "own.jsonl", "--note", "x", cwd=self.work, code=2)
        self.assertIn("--note without --accept", p.stderr)
        self.assertEqual(self.lines(), before)


if __name__ == "__main__":
    runs.main()
