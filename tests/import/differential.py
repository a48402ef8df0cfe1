#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random traces and invariants, judged by the Python TrainCheck and by traincheck-check.

usage: differential.py --bin FOLDER [--rounds N] [--seed N] [--keep FOLDER]

Runs under an interpreter that has `traincheck` 0.2.0 and pandas (a venv of its own). Every verdict is
compared. A difference is explained by a defect of the Python tool that docs/python-tool.md lists, or
it is ours: then it is printed and the exit status is 1.
"""
import argparse
import collections
import contextlib
import io
import json
import logging
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from python_traces import Trace, api, clause, invariant, value, var  # noqa: E402

UNIFORM = "torch.nn.init.uniform_"
FUNCTIONS = ["pkg.a", "pkg.b", "pkg.c", "pkg.d", "pkg.e", UNIFORM]
SKIPPED = "torch.nn.modules.module.Module.train"  # on the tool's skip list
MANAGER = "torch.amp.autocast_mode.autocast"
FIELD = f"meta_vars.context_managers.{MANAGER}"
BIG = 2 ** 60  # and its neighbour, which a double cannot tell from it
ATTRIBUTES = {"data": [1, 2, 3, 2 ** 40, -5], "grad": [None, None, 7, -7, 0], "shape": [[2, 3], [4]]}
MAX_ROW = 4


def random_tensor(rng):
    is_plain = rng.random() < 0.6
    return {"torch.FloatTensor": {"dtype": "torch.float32" if is_plain else rng.choice(["torch.float16", None]),
                                  "shape": [2, 3] if is_plain else rng.choice([[2, 5], [4], [7, 9]]),
                                  "ndim": 2 if is_plain else 1, "requires_grad": is_plain or rng.random() < 0.5}}


def random_scalar(rng):
    return rng.choice([{"int": rng.randrange(3)}, {"float": rng.choice([0.5, 1.0])}, {"bool": True},
                       {"str": rng.choice("xy")}, {"NoneType": None}, {"list": [rng.randrange(4) for _ in range(3)]}])


class Writer:
    """Well-nested calls of every thread, and states between them, at times of their own."""

    def __init__(self, rng):
        self.rng, self.trace, self.now = rng, Trace(), 1000
        self.functions = FUNCTIONS + [SKIPPED] * (rng.random() < 0.2)
        self.stages, self.is_annotated = ["init", "training", "evaluation"], rng.random() < 0.5
        self.has_returns = rng.random() < 0.9
        self.attributes = dict(ATTRIBUTES)
        self.n_managers = 0
        if rng.random() < 0.15:
            self.attributes["data"] = [BIG, BIG + 1]

    def tick(self):
        self.now += self.rng.randrange(1, 40)
        return self.now

    def meta(self, pid):
        meta = {}
        if self.is_annotated and self.rng.random() < 0.8:
            meta["stage"] = self.rng.choice(self.stages)
        if self.rng.random() < 0.8:
            meta["rank"] = pid - 1
        if self.rng.random() < 0.3:
            meta["shard"] = self.rng.choice([None, 0, 1])
        return meta

    def call(self, pid, tid, step, depth):
        rng, function, begin = self.rng, self.rng.choice(self.functions), self.tick()
        for _ in range(rng.choice([0, 0, 1, 2]) if depth < 3 else 0):
            self.happen(pid, tid, step, depth + 1)
        args = [random_tensor(rng)] + [random_scalar(rng) for _ in range(rng.randrange(2))]
        if function == UNIFORM:
            args = [random_tensor(rng), {"float": rng.choice([0.25, 0.5])}]
        kwargs = {"max_size": {"int": rng.randrange(1, 6)}} if function != UNIFORM else {}
        returns = rng.choice([random_tensor(rng), [random_tensor(rng), random_tensor(rng)]])
        self.trace.call(function, begin, self.tick(), pid=pid, tid=tid, step=step, meta=self.meta(pid), args=args,
                        kwargs=kwargs, returns=returns if self.has_returns else None,
                        raises="ValueError" if rng.random() < 0.06 else None)

    def state(self, pid, tid, step):
        rng = self.rng
        attributes = {name: rng.choice(values) for name, values in self.attributes.items()
                      if name != "shape" or rng.random() < 0.9}
        self.trace.state(rng.choice(["w1", "w2"]), self.tick(), attributes, pid=pid, tid=tid, step=step,
                         meta=self.meta(pid))

    def manager(self, pid, tid, step, depth):
        self.n_managers += 1
        here = {"pid": pid, "tid": tid, "step": step, "obj": 1000 + self.n_managers}
        enabled = {"bool": self.rng.random() < 0.5}
        self.trace.call(f"{MANAGER}.__init__", self.tick(), self.tick(), args=({MANAGER: {}}, {"str": "cpu"}),
                        kwargs={"enabled": enabled}, **here)
        self.trace.call(f"{MANAGER}.__enter__", self.tick(), self.tick(), args=({MANAGER: {}},), **here)
        self.call(pid, tid, step, depth + 1)
        self.trace.call(f"{MANAGER}.__exit__", self.tick(), self.tick(), args=({MANAGER: {}},), **here)

    def happen(self, pid, tid, step, depth=0):
        if self.rng.random() < 0.1 and depth < 2:
            self.manager(pid, tid, step, depth)
        elif self.rng.random() < 0.3:
            self.state(pid, tid, step)
        else:
            self.call(pid, tid, step, depth)

    def write(self, folder):
        threads = [(1, 10), (2, 20)] + [(1, 11)] * (self.rng.random() < 0.3)
        for step in range(self.rng.randrange(2, 5)):
            for pid, tid in threads:
                for _ in range(self.rng.randrange(1, 4)):
                    self.happen(pid, tid, step)
        for name, lines in self.trace.files.items():
            if "VAR" in name and self.rng.random() < 0.5:  # trackers write late
                lines.sort(key=lambda line: json.loads(line)["time"] + self.rng.randrange(200))
        self.trace.write(folder)


def random_when(rng, for_variables):
    fields = [("process_id", [1, 2]), ("meta_vars.step", [0, 1, 2]), ("meta_vars.rank", [0, 1]),
              ("meta_vars.stage", ["init", "training"]), ("meta_vars.shard", [None, 0])]
    fields += [("var_name", ["w1"]), ("attributes.grad", [None, 7])] if for_variables else [("function", FUNCTIONS)]
    when = []
    for _ in range(rng.choice([0, 1, 1, 2])):
        clauses = []
        for field, values in rng.sample(fields, rng.randrange(1, 3)):
            kind = rng.choice(["constant", "constant", "consistent", "unequal", "exist"])
            clauses.append(clause(kind, field, *rng.sample(values, rng.randrange(1, len(values) + 1))))
        if rng.random() < 0.2 and not for_variables:
            clauses = clauses[1:] + [rng.choice([clause("exist", FIELD),
                                                 clause("constant", FIELD, "cpu", path=["device_type"]),
                                                 clause("constant", FIELD, True, path=["enabled"])])]
        when.append(clauses)
    return when


def random_child(rng):
    if rng.random() < 0.5:
        more = {}
        if rng.random() < 0.5:
            more["pre_value"] = rng.choice([None, 7, "non_zero", "above_zero", "non_none", "anything", 1])
            more["post_value"] = rng.choice([None, 7, "non_zero", "non_positive", "anything", 2])
        return var(rng.choice(["data", "grad"]), **more)
    name = rng.choice(FUNCTIONS)
    if name == UNIFORM and rng.random() < 0.7:
        a = {"float": rng.choice([0.25, 0.5])}
        return api(name, arguments={"args": {"a": a}, "func_name": name})
    return api(name, **({"exception": "ValueError"} if rng.random() < 0.1 else {}))


def random_invariant(rng):
    relation = rng.choice(["ConsistencyRelation", "APIContainRelation", "FunctionCoverRelation",
                           "FunctionLeadRelation", "DistinctArgumentRelation", "ConsistentOutputRelation",
                           "ConsistentInputOutputRelation", "ThresholdRelation"])
    name = rng.choice(FUNCTIONS)
    path = rng.choice([["shape", 0], ["shape", 1], ["dtype"], ["ndim"], ["requires_grad"]])
    out = value("output_tensors", rng.choice([0, 0, 1]), path, name, False)
    if relation == "ConsistencyRelation":
        params = [var(rng.choice(["data", "grad", "shape"]))] * 2
        if rng.random() < 0.1:
            params = [var("data"), var("grad")]
    elif relation == "APIContainRelation":
        params = [api(name), random_child(rng)]
    elif relation in ("FunctionCoverRelation", "FunctionLeadRelation"):
        names = rng.sample(FUNCTIONS + [SKIPPED], rng.choice([2, 2, 2, 3]))
        params = [api(n) for n in names]
    elif relation == "DistinctArgumentRelation":
        params = [api(name)]
    elif relation == "ConsistentOutputRelation":
        attr, const = rng.choice([("dtype", "torch.float32"), ("shape", [2, 3]), ("ndim", 2)])
        params = [api(name), var(attr, "torch.Tensor", const_value=const)]
    elif relation == "ConsistentInputOutputRelation":
        params = [value("input_tensors", 0, path, name, True), api(name), out]
    else:
        out = value("output_tensors", 0, ["shape", 0], name, False)
        params = [value("max_size", None, None, name, True), api(name), out]
    return invariant(relation, *params, when=random_when(rng, relation == "ConsistencyRelation"),
                     inverted=rng.random() < 0.15)


def verdicts_of_peer(folder, file):
    from traincheck.invariant import read_inv_file
    from traincheck.trace.trace_pandas import read_trace_file_Pandas
    trace = read_trace_file_Pandas([str(p) for p in sorted(folder.iterdir())])
    out = []
    for one in read_inv_file([str(file)]):
        try:
            result = one.check(trace, False)
        except Exception as error:  # whatever it is, the tool gives no verdict
            out.append(f"crashed: {one.relation.__name__} {type(error).__name__} {error}"[:90])
            continue
        out.append("failed" if not result.check_passed else "passed" if result.triggered else "not_triggered")
    return out


def verdicts_of_ours(bin, folder, file, out):
    subprocess.run([bin / "traincheck-check", folder, "-i", file, "-o", out, "-q"], check=False,
                   capture_output=True, timeout=60)
    found = {}
    for verdict in ("failed", "passed", "not_triggered", "unchecked"):
        for line in (out / f"{verdict}.log").read_text().splitlines():
            found[json.loads(line)["text"]] = verdict
    return found


def verdict_alone(scratch, one):
    file = scratch / "alone.json"
    file.write_text(json.dumps(one) + "\n")
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        return verdicts_of_peer(scratch / "trace", file)[0]


def longest_rows(folder):
    """Records of a function that follow each other in the tool's table, by function."""
    rows, before, n = collections.Counter(), None, 0
    for path in sorted(folder.iterdir()):
        for line in path.read_text().splitlines():
            name = json.loads(line).get("function")
            n = n + 1 if name == before else 1
            before = name
            if name:
                rows[name] = max(rows[name], n)
    return rows


def explain(one, theirs, ours, rows, has_big):
    """The defect of docs/python-tool.md that a difference comes from; None: ours."""
    relation = one["relation"]
    names = [p.get("api_full_name") for p in one["params"]]
    if ours == "unchecked" and theirs == "not_triggered":
        return "no difference"  # it has no word for unchecked
    if theirs.startswith("crashed"):
        return theirs
    if relation in ("FunctionCoverRelation", "FunctionLeadRelation"):
        counterparts = names[:-1] if relation == "FunctionCoverRelation" else names[1:]
        if any(rows[n] > MAX_ROW for n in counterparts):
            return "filter of the counterpart"
        if relation == "FunctionCoverRelation" and (theirs, ours) == ("not_triggered", "passed"):
            return "cover never triggered"
        # Also where a function has none beside it but skipped ones, as methods of managers are.
        if SKIPPED in names or rows[SKIPPED] or rows[f"{MANAGER}.__init__"]:
            return "skip list"
    if relation == "DistinctArgumentRelation" and FIELD in json.dumps(one["precondition"]):
        return "first record in order of files"
    if has_big and any(p.get("attr_name") == "data" for p in one["params"]):
        return "integers as doubles"
    if relation == "ConsistentOutputRelation" and ours == "unchecked":
        return "absent return values"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path, help="write traces of unexplained differences here")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    counts, table, unexplained = collections.Counter(), collections.Counter(), 0
    for round in range(options.rounds):
        rng = random.Random(f"{options.seed} {round}")
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            writer = Writer(rng)
            writer.write(scratch / "trace")
            has_big = BIG in writer.attributes["data"]
            wanted = {}
            for i in range(25):
                one = random_invariant(rng) | {"text_description": f"{i}"}
                wanted.setdefault(json.dumps([one["params"], one["precondition"]]), one)
            file = scratch / "invariants.json"
            file.write_text("".join(json.dumps(one) + "\n" for one in wanted.values()))
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                theirs = verdicts_of_peer(scratch / "trace", file)
            ours = verdicts_of_ours(options.bin, scratch / "trace", file, scratch / "out")
            rows = longest_rows(scratch / "trace")
            for one, peer in zip(wanted.values(), theirs):
                mine = ours[one["text_description"]]
                table[one["relation"], mine] += 1
                why = "no difference" if peer == mine else explain(one, peer, mine, rows, has_big)
                if why is None and verdict_alone(scratch, one) == mine:
                    why = "managers that another invariant left behind"
                counts[why] += 1
                if why is None:
                    unexplained += 1
                    print(f"seed {options.seed} round {round}: theirs {peer}, ours {mine}: {json.dumps(one)}")
                    if options.keep:
                        Writer(random.Random(f"{options.seed} {round}")).write(options.keep / f"{round}")
    print(f"{sum(counts.values())} comparisons")
    for why, n in counts.most_common():
        print(f"{n:6}  {why or 'NOT EXPLAINED'}")
    for (relation, verdict), n in sorted(table.items()):
        print(f"{n:6}  {relation} {verdict}")
    sys.exit(unexplained > 0)


if __name__ == "__main__":
    main()
