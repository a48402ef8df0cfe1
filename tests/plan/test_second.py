#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second opinion in float64: a job that is right by a law of functions that is not known is unjudged, a wrong one is refuted.

usage: test_second.py --bin BUILD/bin [--small]

Each job is one expression of the elements of a and b, beside another one on one device. No torch.
"""

import json
import math
import pathlib
import random
import subprocess
import tempfile
import unittest

from options import OPTIONS, main

N = 4
UNARY = {"exp": math.exp, "tanh": math.tanh, "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "neg": lambda x: -x,
         "square": lambda x: x * x, "log": math.log, "sqrt": math.sqrt, "relu": lambda x: max(x, 0.0)}
BINARY = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y}


def plan_of(expression):
    """Lines of a plan that computes it. An expression: a name, a number, or (operator, expressions...)."""
    lines = [{"plan": 1, "rank": 0, "world": 1}]
    known = {}

    def tensor(storage):
        return ["t", storage, 0, [N], [1], "float64"]

    for name in "ab":
        known[name] = tensor(len(known))
        lines.append({"init": "param", "name": name, "t": known[name], "global": [N], "at": [0]})

    def add(e):
        if e is None or isinstance(e, (int, float)):
            return e
        if e not in known:
            names = ("self", "min", "max") if e[0] == "clamp" else ("self", "other")
            args = dict(zip(names, [add(x) for x in e[1:]]))
            known[e] = tensor(len(known))
            lines.append({"op": f"aten.{e[0]}." + ("Tensor" if e[0] in BINARY else "default"), "a": args, "out": [known[e]],
                          "src": [f"train.py:{len(lines)}, in step", ""]})
        return known[e]

    lines.append({"result": "y", "t": add(expression), "global": [N], "at": [0]})
    return lines


def judge(one, other):
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        for name, expression in (("single", one), ("job", other)):
            (folder / name).mkdir()
            (folder / name / "plan-rank00000.jsonl").write_text("".join(json.dumps(x) + "\n" for x in plan_of(expression)))
        done = subprocess.run([OPTIONS.bin / "traincheck-check", "--plan", folder / "job", "--plan-reference", folder / "single",
                               "-o", folder / "out", "--no-html-report", "--json"], capture_output=True, text=True)
        said = json.loads(done.stdout.splitlines()[-1])
        return said["verdict"], done.returncode, (folder / "out" / "plan_findings.jsonl").read_text()


class Laws(unittest.TestCase):
    def test_a_law_that_is_not_known_leaves_a_job_unjudged(self):
        for one, other in (
                ("a", ("log", ("exp", "a"))),
                (("exp", ("add", "a", "b")), ("mul", ("exp", "a"), ("exp", "b"))),
                (("tanh", "a"), ("sub", ("mul", ("sigmoid", ("mul", "a", 2)), 2), 1)),
                (("sigmoid", "a"), ("neg", ("sub", ("sigmoid", ("neg", "a")), 1))),
                (("sqrt", ("mul", ("square", "a"), ("exp", "b"))), ("mul", ("sqrt", ("square", "a")), ("sqrt", ("exp", "b")))),
                ("a", ("sub", ("relu", "a"), ("relu", ("neg", "a")))),
        ):
            with self.subTest(one=one, other=other):
                verdict, code, findings = judge(one, other)
                self.assertEqual((verdict, code), ("unjudged", 3), findings)
                self.assertIn("in float64 all results are those of one device", findings)

    def test_a_wrong_job_is_refuted(self):
        for one, other in (
                ("a", ("log", ("mul", ("exp", "a"), 1.000001))),
                (("exp", ("add", "a", "b")), ("mul", ("exp", "a"), ("exp", "a"))),
                (("tanh", "a"), ("sub", ("mul", ("sigmoid", ("mul", "a", 2)), 2), 1.0000001)),
                ("a", ("add", "a", 1e-7)),
                ("a", ("relu", "a")),
                (("mul", "b", ("clamp", ("mul", "a", 0.001), -1.0, 1.0)), ("mul", "b", ("clamp", ("mul", "a", 0.001), -1.0, 2.0))),
                (("clamp", "a", None, 100.0), ("clamp", "a", None, 200.0)),
        ):
            with self.subTest(one=one, other=other):
                self.assertEqual(judge(one, other)[:2], ("refuted", 1))

    def test_what_is_no_number_is_no_opinion(self):
        self.assertEqual(judge(("log", ("neg", ("square", "a"))), ("log", ("neg", ("square", "b"))))[0], "refuted")


def drawn(chosen, depth):
    if depth == 0 or chosen.random() < 0.1:
        return chosen.choice("ab")
    if chosen.random() < 0.5:
        return (chosen.choice(("exp", "tanh", "sigmoid", "neg", "relu")), drawn(chosen, depth - 1))
    return (chosen.choice(("add", "sub", "mul")), drawn(chosen, depth - 1), drawn(chosen, depth - 1))


def written_otherwise(chosen, e):
    """The same by laws, some of which are not known."""
    if isinstance(e, str):
        return ("log", ("exp", e)) if chosen.random() < 0.3 else e
    name, *parts = e
    parts = [written_otherwise(chosen, x) for x in parts]
    if chosen.random() < 0.5:
        return (name, *parts)
    if name == "exp" and isinstance(e[1], tuple) and e[1][0] == "add":
        return ("mul", *(("exp", written_otherwise(chosen, x)) for x in e[1][1:]))
    if name == "tanh":
        return ("sub", ("mul", ("sigmoid", ("mul", parts[0], 2)), 2), 1)
    if name == "sigmoid":
        return ("div", ("exp", parts[0]), ("add", ("exp", parts[0]), 1))
    if name == "relu":
        return ("add", parts[0], ("relu", ("neg", parts[0])))
    return (name, *parts)


def changed(chosen, e):
    """One operator or operand is another one."""
    if isinstance(e, str):
        return "b" if e == "a" else "a"
    if not isinstance(e, tuple):
        return e * 1.5
    if chosen.random() < 0.3:
        return ("mul", e, 1.001)
    parts = list(e)
    at = chosen.randrange(1, len(parts))
    parts[at] = changed(chosen, parts[at])
    return tuple(parts)


def value(e, at):
    if not isinstance(e, tuple):
        return at.get(e, e) if isinstance(e, str) else e
    try:
        return (UNARY.get(e[0]) or BINARY[e[0]])(*(value(x, at) for x in e[1:]))
    except (ValueError, OverflowError, ZeroDivisionError):
        return math.nan


def differs(one, other, spread):
    """On many inputs: by a thousandth, and with values that are neither large nor none."""
    chosen, n = random.Random(3), 0
    for _ in range(40):
        at = {name: chosen.uniform(-spread, spread) for name in "ab"}
        x, y = value(one, at), value(other, at)
        if not (abs(x) < 1e6 and abs(y) < 1e6):
            return False
        n += abs(x - y) > 1e-6 * max(abs(x), abs(y))
    return n > 30


class Drawn(unittest.TestCase):
    def test_right_jobs_are_not_refuted_and_wrong_ones_are(self):
        found = {"verified": 0, "unjudged": 0, "wrong": 0}
        n_drawn = 60 if OPTIONS.small else 300
        for seed in range(n_drawn):
            chosen = random.Random(seed)
            one = drawn(chosen, 4)
            other = written_otherwise(chosen, one)
            numbers = [value(e, {"a": x, "b": y}) for e in (one, other) for x in (-3, -.5, .5, 3) for y in (-3, .4, 3)]
            if all(abs(x) < 1e3 for x in numbers):
                verdict, _, findings = judge(one, other)
                self.assertIn(verdict, ("verified", "unjudged"), (one, other, findings))
                found[verdict] += 1
            wrong = changed(chosen, other)
            if differs(one, wrong, 0.5):
                self.assertEqual(judge(one, wrong)[0], "refuted", (one, wrong))
                found["wrong"] += 1
        self.assertGreater(min(found.values()), n_drawn // 15, found)


if __name__ == "__main__":
    main("--bin")
