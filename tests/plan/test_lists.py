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

IN_TURN = [op("aten.mul_.Tensor", "train.py:1", [t], self=t, other=FACTOR) for t in (A, B)]


def at_once(other):
    return [op("aten._foreach_mul_.Tensor", "train.py:1", [A, B], self=[A, B], other=other)]


def whole(kind, name, t):
    return {kind: name, "t": t, "global": t[3], "at": [0] * len(t[3])}


def replicated(world, ops):
    """A job whose ranks all hold and compute the same."""
    held = {"unused": UNUSED, "a": A, "b": B, "factor": FACTOR}
    inits = [whole("init", "param", t) | {"name": name} for name, t in held.items()]
    return job(world, lambda rank, rows: [*inits, *ops, whole("result", "a", A), whole("result", "b", B)])


class Lists(unittest.TestCase):
    def test_all_are_multiplied_by_one_tensor(self):
        for factor, status in (FACTOR, 0), (A, 1):
            got, said = check(replicated(1, IN_TURN), replicated(2, at_once(factor)))
            self.assertEqual(got, status, said)


if __name__ == "__main__":
    main("--bin")
