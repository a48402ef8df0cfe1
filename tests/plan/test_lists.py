#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An operator over a list of tensors is one for each: what it gives all of them is the same tensor.

usage: test_lists.py --bin BUILD/bin

Plans written by hand, no torch.
"""

import unittest

from options import main
from test_places import check, job, op, tensor

# Of what no operator reads nothing is kept, so the others lie elsewhere than their numbers say.
UNUSED, A, B, FACTOR = tensor(0, 7), tensor(1, 2, 5), tensor(2, 2, 5), tensor(3)


def in_turn(_rank, _rows):
    return [op("aten.mul_.Tensor", "train.py:1", [t], self=t, other=FACTOR) for t in (A, B)]


def at_once(_rank, _rows):
    return [op("aten._foreach_mul_.Tensor", "train.py:1", [A, B], self=[A, B], other=FACTOR)]


def by_itself(_rank, _rows):
    return [op("aten._foreach_mul_.Tensor", "train.py:1", [A, B], self=[A, B], other=A)]


def step(body):
    def lines(rank, rows):
        named = {"unused": UNUSED, "a": A, "b": B, "factor": FACTOR}
        inits = [{"init": "param", "name": name, "t": t, "global": t[3], "at": [0] * len(t[3])} for name, t in named.items()]
        return [*inits, *body(rank, rows), *({"result": name, "t": named[name], "global": named[name][3], "at": [0, 0]} for name in "ab")]
    return lines


class Lists(unittest.TestCase):
    def test_all_are_multiplied_by_one_tensor(self):
        for body, status in (at_once, 0), (by_itself, 1):
            got, said = check(job(1, step(in_turn)), job(2, step(body)))
            self.assertEqual(got, status, said)


if __name__ == "__main__":
    main("--bin")
