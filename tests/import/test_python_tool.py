# SPDX-License-Identifier: Apache-2.0
"""The tools on traces and invariants in the formats of the Python TrainCheck.

usage: test_python_tool.py --bin FOLDER     with --published FOLDER: on its authors' traces, nothing else

All that is expected here follows from docs/python-tool.md
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "relations")]
from python_traces import Trace, api, clause, invariant, tensor, value, var  # noqa: E402
from trace_writer import zstd_frame  # noqa: E402

BIN, PUBLISHED = pathlib.Path("."), None
PARAMETER = "torch.nn.Parameter"
BIG = 9007199254740993  # 2**53 + 1: a double cannot hold it


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def run_tool(self, tool, *args):
        done = subprocess.run([BIN / f"traincheck-{tool}", *map(str, args)], cwd=self.dir,
                              capture_output=True, text=True, timeout=60)
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        return done

    def check(self, trace, *invariants, tool="check"):
        """Verdicts by place: (verdict, why or None)."""
        folder = trace if isinstance(trace, pathlib.Path) else trace.write(self.dir / "trace")
        file = self.dir / "invariants.json"
        file.write_text("".join(json.dumps(i) + "\n" for i in invariants))
        more = ["--exit-on-idle", "1"] if tool == "onlinecheck" else []
        done = self.run_tool(tool, folder, "-i", file, "-o", self.dir / tool, *more)
        self.stderr, self.stdout = done.stderr, done.stdout
        out = self.dir / tool
        self.violations = read_lines(out / "violations.jsonl")
        verdicts = {}
        for verdict in ("failed", "passed", "not_triggered", "unchecked"):
            for line in read_lines(out / f"{verdict}.log"):
                verdicts[line["text"]] = (verdict, line.get("why"))
        return [verdicts[i["text_description"]] for i in invariants]

    def verdict(self, trace, one, expected, why=None):
        (got, reason), = self.check(trace, one)
        self.assertEqual(got, expected, (reason, self.stdout, self.stderr))
        if why:
            self.assertIn(why, reason)


class Values(Case):
    def states(self, first, second, **meta):
        trace = Trace()
        for pid, data in ((1, first), (2, second)):
            trace.state("model.w", 0, {"data": data}, pid=pid, meta=meta, step=4)
            trace.state("model.w", 100, {"data": 0}, pid=pid, meta=meta)
        return trace

    SAME = invariant("ConsistencyRelation", var("data"), var("data"),
                     when=[[clause("consistent", "var_name")]])

    def test_integers_are_exact(self):
        self.verdict(self.states(BIG, BIG), self.SAME, "passed")
        self.verdict(self.states(BIG, BIG - 1), self.SAME, "failed")
        self.assertEqual(self.violations[0]["step"], 4)
        self.assertIn(str(BIG), self.violations[0]["seen"])
        self.assertEqual([v["name"] for v in self.violations[0]["variables"]], ["model.w"])

    def test_numbers_are_equal_as_in_python(self):
        self.verdict(self.states(1, 1.0), self.SAME, "passed")
        self.verdict(self.states(1, True), self.SAME, "passed")
        self.verdict(self.states(1, "1"), self.SAME, "failed")
        self.verdict(self.states([1, 2.0], [1.0, 2]), self.SAME, "passed")
        self.verdict(self.states([1, 2], [2, 1]), self.SAME, "failed")

    def test_other_tokens_are_numbers(self):
        self.verdict(self.states(2 ** 70, 2 ** 70), self.SAME, "passed")
        self.assertNotIn("note", self.stderr)
        self.verdict(self.states(float("inf"), float("inf")), self.SAME, "passed")
        # NaN is what the tool has for absent: there is no state of it.
        self.verdict(self.states(float("nan"), 5), self.SAME, "not_triggered")

    def when(self, *clauses, **more):
        return invariant("ConsistencyRelation", var("data"), var("data"), when=[list(clauses)], **more)

    def test_null_is_a_value_and_absent_is_none(self):
        trace = self.states(1, 2, shard=None)
        self.verdict(trace, self.when(clause("constant", "meta_vars.shard", None)), "failed")
        self.verdict(trace, self.when(clause("constant", "meta_vars.other", None)), "not_triggered")
        self.verdict(trace, self.when(clause("exist", "meta_vars.other")), "not_triggered")

    def test_clauses(self):
        trace = self.states(1, 2, list=[1])
        for one, expected in (
                (clause("unequal", "process_id"), "failed"),
                (clause("consistent", "process_id"), "not_triggered"),
                (clause("constant", "process_id", 1, 2), "not_triggered"),  # both the same, and listed
                (clause("constant", "meta_vars.step", 4.0, 7), "failed"),
                (clause("exist", "meta_vars.list"), "failed"),
                (clause("consistent", "meta_vars.list"), "not_triggered"),  # Python cannot hash it
        ):
            self.verdict(trace, self.when(one), expected)
        self.verdict(trace, self.when(clause("unequal", "process_id"), inverted=True), "not_triggered")
        self.verdict(trace, self.when(clause("consistent", "process_id"), inverted=True), "failed")

    def test_stages_are_filled(self):
        trace = self.states(1, 2)
        self.verdict(trace, self.when(clause("constant", "meta_vars.stage", "init")), "not_triggered")
        trace.call("torch.f", 500, 501, meta={"stage": "training"})
        self.verdict(trace, self.when(clause("constant", "meta_vars.stage", "init")), "failed")

    def test_addresses_of_both_prefixes(self):
        for prefix in ("_ML_DAIKON", "_TRAINCHECK"):
            trace = Trace()
            for pid in (1, 2):
                trace.state("w", 0, {"data": pid, f"{prefix}_data_ID": 7 + pid}, pid=pid)
                trace.state("w", 9, {"data": 0}, pid=pid)
            self.verdict(trace, self.when(clause("unequal", f"attributes.{prefix}_data_ID")), "failed")


class Relations(Case):
    def test_consistency_ignores_states_that_hardly_meet(self):
        trace = Trace()
        trace.state("w", 0, {"data": 1}, pid=1)
        trace.state("w", 1000, {"data": 2}, pid=1)
        trace.state("w", 5, {"data": 1}, pid=2)  # later by 0.5 %
        trace.state("w", 1001, {"data": 2}, pid=2)
        trace.state("w", 2000, {"data": 3}, pid=1)
        trace.state("w", 2001, {"data": 3}, pid=2)
        self.verdict(trace, Values.SAME, "passed")

    def test_contained_calls(self):
        trace = Trace()
        trace.call("torch.outer", 10, 20)
        trace.call("torch.inner", 12, 15, kwargs={"p": {"float": 0.5}})
        trace.call("torch.outer", 30, 40)
        trace.call("torch.inner", 32, 35, kwargs={"p": {"float": 0.5}}, tid=11)  # another thread
        inner = invariant("APIContainRelation", api("torch.outer"), api("torch.inner"))
        self.verdict(trace, inner, "failed")
        self.assertEqual(len(self.violations), 1)
        trace.call("torch.inner", 33, 36)
        self.verdict(trace, inner, "passed")
        wanted = api("torch.inner", arguments={"args": {"p": {"float": 0.5}}, "func_name": "torch.inner"})
        self.verdict(trace, invariant("APIContainRelation", api("torch.outer"), wanted), "failed")
        self.verdict(trace, invariant("APIContainRelation", api("torch.other"), wanted), "not_triggered")

    def test_arguments_have_the_names_of_the_signature(self):
        name = "torch.nn.functional.dropout"
        wanted = api(name, arguments={"args": {"p": {"float": 0.5}}, "func_name": name})
        one = invariant("APIContainRelation", api("m.f"), wanted)
        trace = Trace()
        trace.call("m.f", 10, 20)
        trace.call(name, 12, 15, args=(tensor(), {"float": 0.5}))
        self.verdict(trace, one, "passed")
        trace = Trace()
        trace.call("m.f", 10, 20)
        trace.call(name, 12, 15, args=(tensor(), {"float": 0.25}))
        self.verdict(trace, one, "failed")

    def test_unknown_signatures_are_unchecked(self):
        wanted = api("m.g", arguments={"args": {"p": {"int": 1}}, "func_name": "m.g"})
        one = invariant("APIContainRelation", api("m.f"), wanted)
        trace = Trace()
        trace.call("m.f", 10, 20)
        trace.call("m.g", 12, 15, args=({"int": 1},))
        self.verdict(trace, one, "unchecked", "signature")

    def test_exceptions(self):
        trace = Trace()
        trace.call("m.f", 10, 20)
        trace.call("m.g", 12, 15, raises="ValueError")
        self.verdict(trace, invariant("APIContainRelation", api("m.f"), api("m.g")), "failed")
        for name, expected in (("ValueError", "passed"), ("KeyError", "failed")):
            one = invariant("APIContainRelation", api("m.f"), api("m.g", exception=name))
            self.verdict(trace, one, expected)

    def changes(self, grad):
        """zero_grad from 100 to 200, in which the gradient becomes null."""
        trace = Trace()
        trace.call("m.zero_grad", 100, 200)
        trace.state("w", 150, {"grad": None})
        trace.state("w", 50, {"grad": grad})  # written late, with the time of the change
        trace.state("w", 10, {"grad": None})
        return trace

    def test_contained_changes(self):
        for grad, before, expected in ((7, "non_zero", "passed"), (7, 7, "passed"), (7, "above_zero", "passed"),
                                       (-7, "above_zero", "failed"), (-7, "non_positive", "passed"),
                                       (0, "non_zero", "failed"), ("x", "non_none", "passed"),
                                       ("x", "above_zero", "failed"), (7, None, "failed")):
            one = invariant("APIContainRelation", api("m.zero_grad"),
                            var("grad", pre_value=before, post_value=None))
            with self.subTest(grad=grad, before=before):
                self.verdict(self.changes(grad), one, expected)

    def test_changes_of_other_processes_do_not_count(self):
        trace = Trace()
        trace.call("m.step", 100, 200)
        trace.state("w", 50, {"data": 1}, pid=2)
        trace.state("w", 150, {"data": 2}, pid=2)
        self.verdict(trace, invariant("APIContainRelation", api("m.step"), var("data")), "failed")

    def sequence(self, text):
        """One call for each letter, one after another; a capital one is at step 1."""
        trace = Trace()
        for i, letter in enumerate(text):
            trace.call(f"m.{letter.lower()}", 10 * i, 10 * i + 5, step=int(letter.isupper()))
        return trace

    def test_cover(self):
        cover = invariant("FunctionCoverRelation", api("m.a"), api("m.b"))
        for text, expected in (("abab", "passed"), ("aabab", "passed"), ("ba", "failed"), ("abb", "failed"),
                               ("aaa", "not_triggered"), ("b", "not_triggered"), ("bc", "failed"),
                               ("abbb", "not_triggered")):  # six records of b in a row
            with self.subTest(text=text):
                self.verdict(self.sequence(text), cover, expected)

    def test_lead(self):
        lead = invariant("FunctionLeadRelation", api("m.a"), api("m.b"))
        for text, expected in (("abab", "passed"), ("abaa", "failed"), ("ac", "failed"), ("abba", "passed"),
                               ("bbb", "not_triggered"), ("abab" + "a", "passed")):
            with self.subTest(text=text):
                self.verdict(self.sequence(text), lead, expected)

    def test_sequences_judge_only_what_meets_the_precondition(self):
        at_one = [[clause("constant", "meta_vars.step", 1)]]
        cover = invariant("FunctionCoverRelation", api("m.a"), api("m.b"), when=at_one)
        self.verdict(self.sequence("baB"), cover, "passed")
        self.verdict(self.sequence("Bab"), cover, "failed")
        self.verdict(self.sequence("bab"), cover, "not_triggered")

    def test_chains(self):
        chain = invariant("FunctionCoverRelation", api("m.a"), api("m.b"), api("m.c"))
        self.verdict(self.sequence("abcabc"), chain, "passed")
        self.verdict(self.sequence("abcac"), chain, "failed")

    def test_what_its_skip_list_names_is_judged(self):
        train = "torch.nn.modules.module.Module.train"
        trace = Trace()
        trace.call(train, 10, 20)
        trace.call("m.other", 30, 40)
        self.verdict(trace, invariant("FunctionCoverRelation", api("m.freeze"), api(train)), "failed")

    def test_distinct_arguments(self):
        one = invariant("DistinctArgumentRelation", api("m.f"))

        def calls(*arguments):
            trace = Trace()
            for i, (step, argument) in enumerate(arguments):
                trace.call("m.f", 10 * i, 10 * i + 1, args=(argument,), step=step)
            return trace
        for arguments, expected in (
                ([(0, {"int": 1}), (0, {"int": 2})], "passed"),
                ([(0, {"int": 1}), (0, {"int": 1})], "failed"),
                ([(0, {"int": 1}), (1, {"int": 1})], "passed"),
                ([(0, {"int": 1}), (0, {"float": 1.0})], "passed"),
                ([(0, {"float": 1.0}), (0, {"float": 1.000000001})], "failed"),
                ([(0, {"list": [1, 2, 3]}), (0, {"list": [3, 4, 5]})], "failed"),  # a fifth is shared
                ([(0, {"list": [1, 2, 3]}), (0, {"list": [4, 5, 6]})], "passed")):
            with self.subTest(arguments=arguments):
                self.verdict(calls(*arguments), one, expected)

    def test_outputs(self):
        trace = Trace()
        trace.call("m.f", 10, 20, args=(tensor(shape=[2, 3]),), returns=tensor(shape=[2, 5]))
        for attr, const, expected in (("dtype", "torch.float32", "passed"), ("dtype", "torch.float16", "failed"),
                                      ("shape", [2, 5], "passed"), ("layout", "x", "failed")):
            one = invariant("ConsistentOutputRelation", api("m.f"), var(attr, "torch.Tensor", const_value=const))
            self.verdict(trace, one, expected)
        for index, expected in ((0, "passed"), (1, "failed")):
            one = invariant("ConsistentInputOutputRelation",
                            value("input_tensors", 0, ["shape", index], "m.f", True), api("m.f"),
                            value("output_tensors", 0, ["shape", index], "m.f", False))
            self.verdict(trace, one, expected)
        missing = invariant("ConsistentInputOutputRelation",
                            value("input_tensors", 3, ["shape", 0], "m.f", True), api("m.f"),
                            value("output_tensors", 0, ["shape", 0], "m.f", False))
        self.verdict(trace, missing, "not_triggered")

    def test_values_that_are_not_in_the_trace_are_unchecked(self):
        trace = Trace()
        trace.call("m.f", 10, 20)
        one = invariant("ConsistentOutputRelation", api("m.f"), var("dtype", "torch.Tensor", const_value="x"))
        self.verdict(trace, one, "unchecked", "return values")
        trace = Trace()
        trace.call("m.f", 10, 20, no_args=True)
        self.verdict(trace, invariant("DistinctArgumentRelation", api("m.f")), "unchecked", "arguments")

    def test_thresholds(self):
        trace = Trace()
        trace.call("m.generate", 10, 20, kwargs={"max_new_tokens": {"int": 5}, "min_length": {"int": 4}},
                   returns=tensor(lengths=[5, 7]))
        out = [value("output_tensors", 0, ["lengths", i], "m.generate", False) for i in (0, 1)]
        most = value("max_new_tokens", None, None, "m.generate", True)
        least = value("min_length", None, None, "m.generate", True)
        for params, expected in (((most, out[0]), "passed"), ((most, out[1]), "failed"),
                                 ((out[0], least), "passed"), ((out[0], most), "passed")):
            one = invariant("ThresholdRelation", params[0], api("m.generate"), params[1])
            self.verdict(trace, one, expected)
        default = value("max_length", None, None, "m.generate", True)
        one = invariant("ThresholdRelation", default, api("m.generate"), out[0])
        self.verdict(trace, one, "unchecked", "default")

    def test_context_managers(self):
        name = "torch.amp.autocast_mode.autocast"
        trace = Trace()
        trace.call(f"{name}.__init__", 10, 11, obj=5, args=({name: {}}, {"str": "cpu"}),
                   kwargs={"enabled": {"bool": True}})
        trace.call(f"{name}.__enter__", 12, 13, obj=5)
        trace.call("m.f", 20, 30)
        trace.call(f"{name}.__exit__", 40, 41, obj=5)
        field = f"meta_vars.context_managers.{name}"
        contain = lambda *clauses: invariant("APIContainRelation", api("m.f"), api("m.g"), when=[list(clauses)])
        self.verdict(trace, contain(clause("exist", field)), "failed")
        self.verdict(trace, contain(clause("constant", field, "cpu", path=["device_type"])), "failed")
        self.verdict(trace, contain(clause("constant", field, "cuda", path=["device_type"])), "not_triggered")
        self.verdict(trace, contain(clause("constant", field, True, path=["enabled"])), "failed")
        outside = Trace()
        outside.files = {n: list(lines) for n, lines in trace.files.items()}
        outside.call("m.late", 50, 60)
        late = invariant("APIContainRelation", api("m.late"), api("m.g"), when=[[clause("exist", field)]])
        self.verdict(outside, late, "not_triggered")

    def test_a_call_that_never_ends_is_not_judged(self):
        trace = Trace()
        trace.call("m.f", 10)
        trace.call("m.other", 20, 30)
        self.verdict(trace, invariant("APIContainRelation", api("m.f"), api("m.g")), "not_triggered")

    def test_relations_that_are_not_known_stay(self):
        trace = self.sequence("ab")
        other = invariant("FunctionCoverRelation", api("m.a"), api("m.b"))
        other |= {"relation": "VarPeriodicChangeRelation", "text_description": "other"}
        self.verdict(trace, other, "unchecked", "relation is not known")
        bad = invariant("FunctionCoverRelation", api("m.a"), api("m.b"), when=[[{"type": "odd"}]])
        self.verdict(trace, bad, "unchecked", "clause of a kind")


class Tools(Case):
    def training(self, step_is_missing_at=None, drift_at=None):
        """Two ranks, five steps of zero_grad, backward and step; weights sampled at each step."""
        trace = Trace()
        for rank in (0, 1):
            for step in range(6):
                at, meta = 1000 * step + rank, {"stage": "training", "_DATA_PARALLEL_RANK": rank}
                here = {"pid": 100 + rank, "tid": 7, "step": step, "meta": meta}
                opt = {"obj": 3, "args": ({"torch.optim.sgd.SGD": {}},)}
                data = step + (rank if drift_at is not None and step >= drift_at else 0)
                trace.state("model.w", at + 100, {"data": data, "grad": None, "dtype": "torch.float32",
                                                  "shape": [4, 4], "requires_grad": True}, mode=None, **here)
                trace.call("torch.optim.optimizer.Optimizer.zero_grad", at + 200, at + 210, **opt, **here)
                trace.call("torch._tensor.Tensor.backward", at + 300, at + 310, args=(tensor(),), obj=9, **here)
                if step != step_is_missing_at:
                    trace.call("torch.optim.sgd.SGD.step", at + 400, at + 410, **opt, **here)
        return trace

    def infer(self, folder):
        self.run_tool("infer", folder, "-o", self.dir / "ours.jsonl")
        return read_lines(self.dir / "ours.jsonl")[1:]

    def test_our_relations_learn_from_its_traces(self):
        folder = self.training().write(self.dir / "healthy")
        texts = [i["text"] for i in self.infer(folder)]
        self.assertTrue(any("Tensor.backward() and Optimizer.step(), in this order" in t for t in texts), texts)
        self.assertIn("no zero_grad() comes between a backward and the optimizer step", texts)
        self.assertTrue(any(t.startswith("data of each Parameter is the same on all ranks") for t in texts), texts)
        # Variables were sampled: nothing can be said to leave them alone.
        self.assertFalse(any("changes data of no" in t for t in texts), texts)
        drifted = self.training(drift_at=3).write(self.dir / "drifted")
        done = self.run_tool("check", drifted, "-i", self.dir / "ours.jsonl", "-o", self.dir / "out")
        self.assertEqual(done.returncode, 1)
        first = read_lines(self.dir / "out/violations.jsonl")[0]
        self.assertEqual((first["relation"], first["step"]), ("Consistent/replica", 3))

    def test_packed_traces_read_the_same(self):
        plain = self.training().write(self.dir / "plain")
        packed = self.training().write(self.dir / "packed", zstd_frame)
        self.assertEqual(self.infer(plain), self.infer(packed))

    def test_ranks_are_told(self):
        trace = self.training(drift_at=3)
        same = invariant("ConsistencyRelation", var("data"), var("data"), when=[[clause("consistent", "var_name")]])
        self.verdict(trace, same, "failed")
        self.assertEqual(self.violations[0]["step"], 3)
        self.assertIn(self.violations[0]["rank"], (0, 1))

    def test_proxy_log_of_several_processes(self):
        trace, folder = self.training(), self.dir / "trace"
        trace.write(folder)
        lines = []
        for file in folder.glob("trace_VAR_*"):
            lines += file.read_text().splitlines()
            file.unlink()
        (folder / "proxy_log.json").write_text("\n".join(lines))
        same = invariant("ConsistencyRelation", var("data"), var("data"), when=[[clause("consistent", "var_name")]])
        self.verdict(folder, same, "passed")

    def test_online_says_what_offline_says(self):
        trace = self.training(drift_at=2)
        same = invariant("ConsistencyRelation", var("data"), var("data"), when=[[clause("consistent", "var_name")]])
        offline = self.check(trace, same)
        self.assertEqual(self.check(trace, same, tool="onlinecheck"), offline)
        self.assertEqual((self.dir / "check/violations.jsonl").read_bytes(),
                         (self.dir / "onlinecheck/violations.jsonl").read_bytes())

    def test_damage_is_named_and_the_rest_is_read(self):
        trace, folder = self.training(drift_at=3), self.dir / "trace"
        trace.write(folder)
        file = folder / "trace_VAR_100_7.log"
        lines = file.read_text().splitlines(keepends=True)
        lines[1:1] = ['{"type": "state_change", "time" 5}\n', '{"type": "state_change", "time": 5}\n']
        file.write_text("".join(lines) + '{"var_name": "model.w", "type": "sta')
        same = invariant("ConsistencyRelation", var("data"), var("data"), when=[[clause("consistent", "var_name")]])
        self.verdict(folder, same, "failed")
        notes = json.loads((self.dir / "check/violations_summary.json").read_text())["notes"]
        seen = {(n["code"], n["file"], n["line"]) for n in notes}
        self.assertLessEqual({("bad-json", file.name, 2), ("bad-record", file.name, 3),
                              ("torn-tail", file.name, len(lines) + 1)}, seen)

    def test_too_many_processes_are_refused(self):
        trace = Trace()
        for pid in range(5000):
            trace.state("w", pid, {"data": 1}, pid=pid)
        folder = self.dir / "trace"
        folder.mkdir()
        (folder / "proxy_log.json").write_text("\n".join(line for lines in trace.files.values() for line in lines))
        done = subprocess.run([BIN / "traincheck-infer", folder], cwd=self.dir, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("proxy_log.json: lines of more than 4096 processes", done.stderr)

    def test_its_invariants_need_its_traces(self):
        own = self.dir / "own"
        own.mkdir()
        (own / "trace_h_r0_p1.jsonl").write_text(
            '{"type":"process","schema":1,"pid":1,"role":"main"}\n{"type":"end","t":5,"exit":0}\n')
        self.verdict(own, Values.SAME, "unchecked", "this is none")

    def test_its_invariants_select_nothing_to_trace(self):
        file = self.dir / "i.json"
        file.write_text(json.dumps(Values.SAME) + "\n")
        (self.dir / "x.py").write_text("")
        done = subprocess.run([BIN / "traincheck-collect", "--python", sys.executable, "-i", file,
                               self.dir / "x.py"], cwd=self.dir,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("Python tool", done.stderr)


class Published(Case):
    """Verdicts that the authors of the Python tool published with real traces."""

    def judge(self, name, expected, step):
        folder = PUBLISHED / name
        file, = folder.glob("invariants_*.json")
        done = self.run_tool("check", folder / "trace", "-i", file, "-o", self.dir / "out")
        self.assertEqual(done.returncode, 1, done.stderr)
        published = {part["invariant"]["relation"] for part in concatenated(folder / "published/failed.log")}
        failed = read_lines(self.dir / "out/failed.log")
        self.assertEqual({line["relation"] for line in failed}, published)
        self.assertEqual([line["relation"] for line in failed], [expected])
        first = read_lines(self.dir / "out/violations.jsonl")[0]
        self.assertEqual(first["step"], step)
        for verdict in ("passed", "not_triggered", "unchecked"):
            self.assertEqual(read_lines(self.dir / f"out/{verdict}.log"), [])

    def test_weights_diverge(self):
        self.judge("deepspeed-1801", "ConsistencyRelation", 2)

    def test_stages_are_not_frozen(self):
        self.judge("mmpretrain-702", "FunctionCoverRelation", 0)

    def test_equal_initial_values(self):
        self.judge("transformers-17877", "DistinctArgumentRelation", 0)

    def test_a_healthy_run_of_eight_ranks(self):
        done = self.run_tool("infer", PUBLISHED / "ddp-multigpu/trace", "-o", self.dir / "i.jsonl")
        self.assertNotIn("note", done.stderr)
        self.assertIn("32 steps", done.stderr)
        texts = [line.get("text", "") for line in read_lines(self.dir / "i.jsonl")]
        for text in ("every training step has the root forward in training mode and Tensor.backward(), in this order",
                     "dtype of each Parameter is the same on all ranks after every step"):
            self.assertIn(text, texts)

    def test_malformed(self):
        done = self.run_tool("infer", PUBLISHED / "malformed", "-o", self.dir / "i.jsonl")
        self.assertIn("trace_VAR_27720_140342762137408.log: line 1: byte 325", done.stderr)
        self.assertIn("read 3 records", done.stderr)


def concatenated(path):
    """The tool writes indented objects one behind the other."""
    text, decoder, at = path.read_text(), json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        part, at = decoder.raw_decode(text, at)
        yield part


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--published", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    BIN = options.bin.resolve()
    PUBLISHED = options.published and options.published.resolve()
    tests = ["Published"] if PUBLISHED else ["Values", "Relations", "Tools"]
    unittest.main(argv=[sys.argv[0], *(rest or tests)])
