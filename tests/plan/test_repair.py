#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The change of one line that would make a wrong job right is found, where values relate to nothing on one device.

usage: test_repair.py --bin BUILD/bin

Plans written by hand, no torch: the logsumexp of rows of x, whose columns are split over tp. Each rank subtracts a maximum,
so what it computes on the way is no single-device value.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from options import OPTIONS, main

ROWS, COLUMNS, RANKS = 3, 10, 2


def tensor(storage, *sizes):
    strides = [1] * len(sizes)
    for d in reversed(range(len(sizes) - 1)):
        strides[d] = strides[d + 1] * sizes[d + 1]
    return ["t", storage, 0, list(sizes), strides, "float32"]


def op(name, line, out, /, **args):
    return {"op": name, "a": args, "out": [out], "src": [f"train.py:{line}, in step", ""]}


def reduction(tensor_, line, how, group=None):
    return op("c10d.allreduce_.default", line, tensor_, tensors=[tensor_], reduce_op=how,
              process_group=["pg", group or list(range(RANKS))])


def head(rank, world):
    mesh = [{"name": "tp", "ranks": list(range(world))}] if world > 1 else []
    return {"plan": 1, "rank": rank, "world": world, "mesh": mesh, "script": "train.py"}


def start(rank, world):
    x = tensor(0, ROWS, COLUMNS // world)
    return x, {"init": "param", "name": "x", "t": x, "global": [ROWS, COLUMNS], "at": [0, COLUMNS // world * rank]}


def end(t):
    return {"result": "lse", "t": t, "global": [ROWS, 1], "at": [0, 0]}


def single():
    x, init = start(0, 1)
    out = tensor(1, ROWS, 1)
    return [head(0, 1), init, op("aten.logsumexp.default", 5, out, self=x, dim=[1], keepdim=True), end(out)]


def parallel(rank):
    """Line 10: the maximum, 11: that of all ranks, 12: the shift, 13: exp, 14: the sum, 15: that of all ranks, 16: its log,
    17: the shift back."""
    x, init = start(rank, RANKS)
    part = tensor(1, ROWS, COLUMNS // RANKS)
    high, total = tensor(2, ROWS, 1), tensor(3, ROWS, 1)
    return [head(rank, RANKS), init,
            op("aten.amax.default", 10, high, self=x, dim=[1], keepdim=True), reduction(high, 11, "max"),
            op("aten.sub.Tensor", 12, part, self=x, other=high), op("aten.exp_.default", 13, part, self=part),
            op("aten.sum.dim_IntList", 14, total, self=part, dim=[1], keepdim=True), reduction(total, 15, "sum"),
            op("aten.log_.default", 16, total, self=total), op("aten.add_.Tensor", 17, total, self=total, other=high), end(total)]


def line_of(line):
    return int(line["src"][0].split(":")[1].split(",")[0]) if "op" in line else 0


def check(change):
    """(exit code, findings): change turns the lines of each rank into those of the wrong job."""
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        jobs = {"single": [single()], "parallel": [change(parallel(rank)) for rank in range(RANKS)]}
        for name, ranks in jobs.items():
            (folder / name).mkdir()
            for rank, lines in enumerate(ranks):
                (folder / name / f"plan-rank{rank:05d}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        run = subprocess.run([OPTIONS.bin / "traincheck-check", "--plan", folder / "parallel", "--plan-reference", folder / "single",
                              "-o", folder / "out", "--json", "--no-html-report"], capture_output=True, text=True)
        said = [json.loads(line) for line in run.stdout.splitlines()]
    return run.returncode, said[:-1]


def without(number):
    return lambda lines: [line for line in lines if line_of(line) != number]


class Repair(unittest.TestCase):
    def assert_first(self, change, kind, at, words):
        code, findings = check(change)
        self.assertEqual(code, 1)
        self.assertEqual((findings[0]["finding"], findings[0]["at"].split(",")[0]), (kind, f"train.py:{at}"))
        said = findings[0]["text"] + "".join(findings[0].get("details", []))
        self.assertIn(words, said)

    def test_the_right_job_is_verified(self):
        self.assertEqual(check(lambda lines: lines), (0, []))

    def test_a_sum_that_is_missing(self):
        self.assert_first(without(15), "missing-reduction", 14,
                          "summed over tp after it, before aten.log_ (train.py:16), the wrong result is right")

    def test_a_result_that_is_left_out(self):
        """As a gradient that was not asked for; one rank has an operator more than the other."""
        more = op("aten.mul_.Scalar", 18, tensor(3, ROWS, 1), self=tensor(3, ROWS, 1), other=1)
        more["out"].append(None)

        def change(lines):
            lines = without(15)(lines)
            return [*lines[:-1], more, lines[-1]] if lines[0]["rank"] == 0 else lines

        code, findings = check(change)
        self.assertEqual((code, bool(findings)), (1, True))

    def test_a_difference_the_other_way_round(self):
        def change(lines):
            return [line | {"a": {"self": line["a"]["other"], "other": line["a"]["self"]}} if line_of(line) == 12 else line
                    for line in lines]
        self.assert_first(change, "factor", 12, "with the other sign, the wrong result is right")

    def test_a_sum_that_is_there_twice(self):
        def change(lines):
            return [more for line in lines
                    for more in ([line, reduction(tensor(3, ROWS, 1), 20, "sum")] if line_of(line) == 15 else [line])]
        self.assert_first(change, "needless", 20, "without it, the wrong result is right")

    def test_a_factor_after_it_is_told_as_such(self):
        """All results are wrong by all laws: what is right before is known by these alone."""
        def change(lines):
            doubled = tensor(9, ROWS, 1)
            return [*lines[:-1], op("aten.mul.Tensor", 18, doubled, self=lines[-1]["t"], other=2), {**lines[-1], "t": doubled}]
        _, findings = check(change)
        self.assertEqual(findings[0]["at"].split(",")[0], "train.py:18")
        self.assertIn("2 times the single-device value", findings[0]["text"])

    def test_a_maximum_of_its_own(self):
        self.assert_first(without(11), "departure", 10, "with the maximum over tp after it, the wrong result is right")


class Made(unittest.TestCase):
    """What ranks have made where it is no single-device value."""

    def scaled(self, factor_of):
        """The first finding, where each rank multiplies its part of x by a factor."""
        def change(lines):
            rank, doubled = lines[0]["rank"], tensor(5, ROWS, COLUMNS // RANKS)
            lines = [json.loads(json.dumps(line).replace('["t", 0,', '["t", 5,')) if "op" in line else line for line in lines]
            return lines[:2] + [op("aten.mul.Tensor", 9, doubled, self=tensor(0, ROWS, COLUMNS // RANKS), other=factor_of(rank))] + lines[2:]
        _, findings = check(change)
        self.assertEqual(findings[0]["at"].split(",")[0], "train.py:9")
        return findings[0]["text"]

    def test_a_factor_of_its_own_on_each_rank(self):
        self.assertIn("ranks have factors of their own: 2 times the single-device value on rank 0, "
                      "3 times the single-device value on rank 1", self.scaled(lambda rank: 2 + rank))

    def test_factors_of_many_ranks_are_told_in_families(self):
        with unittest.mock.patch.object(sys.modules[__name__], "RANKS", 5):
            text = self.scaled(lambda rank: 2 + rank % 2 + rank // 4)
        self.assertIn("2 times the single-device value on ranks 0, 2, 3 times the single-device value on ranks 1, 3, 4", text)


if __name__ == "__main__":
    main("--bin")
