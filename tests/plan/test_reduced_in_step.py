#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gradients that only the optimizer's step reduces are set apart if the parameter after the step is right.

usage: test_reduced_in_step.py --bin BUILD/bin

Two data ranks, y = x @ w, written by hand. The gradient that is told is that of the rank's own rows; the step sums a copy
of it. No torch.
"""

import json
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

from options import OPTIONS, main

ROWS, WIDTH, OUT = 6, 4, 5


def tensor(storage, rows, columns):
    return ["t", storage, 0, [rows, columns], [columns, 1], "float32"]


def op(name, arguments, out, line):
    return {"op": name, "a": arguments, "out": [out], "src": [f"train.py:{line}, in step", ""]}


def plan(rank, world, rate, reduces, keeps):
    rows = ROWS // world
    x, w, y, grad, total = (tensor(i, *sizes) for i, sizes in enumerate(
        [(rows, WIDTH), (WIDTH, OUT), (rows, OUT), (WIDTH, OUT), (WIDTH, OUT)]))
    turned = ["t", 0, 0, [WIDTH, rows], [1, WIDTH], "float32"]
    whole = {"global": [WIDTH, OUT], "at": [0, 0]}
    lines = [{"plan": 1, "rank": rank, "world": world, "mesh": [{"name": "dp", "ranks": list(range(world))}], "script": "train.py"},
             {"init": "input", "name": "x", "t": x, "global": [ROWS, WIDTH], "at": [rows * rank, 0]},
             {"init": "param", "name": "w", "t": w, **whole},
             op("aten.mm.default", {"self": x, "mat2": w}, y, 1),
             op("aten.mm.default", {"self": turned, "mat2": y}, grad, 2),
             op("aten.clone.default", {"self": grad}, total, 3)]
    if world > 1 and reduces:
        lines.append(op("c10d.allreduce_.default", {"tensors": [total], "process_group": ["pg", [0, 1]], "reduce_op": "sum"}, total, 4))
    lines.append(op("aten.add_.Tensor", {"self": w, "other": total, "alpha": -rate}, w, 5))
    grads = [{"result": "w.grad", "t": grad, **whole}] if keeps or world == 1 else []
    return lines + grads + [{"result": "w", "t": w, **whole}]


def check(rate=0.5, reduces=True, keeps=True):
    """(exit code, what is said, number of test cases that JUnit skips)"""
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        for name, world in (("single", 1), ("parallel", 2)):
            (folder / name).mkdir()
            for rank in range(world):
                lines = plan(rank, world, rate, reduces, keeps)
                (folder / name / f"plan-rank{rank:05d}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        run = subprocess.run([OPTIONS.bin / "traincheck-check", "--plan", folder / "parallel", "--plan-reference",
                              folder / "single", "-o", folder / "out", "--format", "junit"], cwd=folder,
                             capture_output=True, text=True)
        suite = xml.parse(folder / "out" / "junit.xml").getroot()[0]
    return run.returncode, run.stdout + run.stderr, int(suite.get("skipped"))


class ReducedInStep(unittest.TestCase):
    def test_a_right_parameter_sets_its_gradient_apart(self):
        code, said, skipped = check()
        self.assertEqual(code, 0, said)
        self.assertIn("gradient of w is not that of one device before the optimizer's step, but the parameter after it is", said)
        self.assertIn("1 results verified", said)
        self.assertEqual(skipped, 1)

    def test_a_gradient_that_the_script_keeps_elsewhere_is_set_apart(self):
        code, said, _ = check(keeps=False)
        self.assertEqual(code, 0, said)
        self.assertIn("gradient of w is not that of one device before the optimizer's step", said)
        code, said, _ = check(reduces=False, keeps=False)
        self.assertEqual(code, 1, said)
        self.assertIn("w after the step departs at", said)  # which the step has written: it tells more
        self.assertNotIn("is a result of no rank", said)

    def test_a_step_that_reduces_nothing_is_refuted(self):
        code, said, skipped = check(reduces=False)
        self.assertEqual((code, skipped), (1, 0), said)
        self.assertIn("2 of 2 results differ", said)

    def test_a_parameter_that_did_not_move_tells_nothing(self):
        code, said, _ = check(rate=0)
        self.assertEqual(code, 1, said)
        self.assertIn("1 of 2 results differ", said)


if __name__ == "__main__":
    main("--bin")
