#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bound of the error that a verdict prints: degrees that are known by hand, and what they promise in a small field.

usage: test_bound.py --bin BUILD/bin

Each plan is that of one rank beside one device. Bits of one evaluation are 120 less the logarithm of all chances
together, as docs/plans.md derives them. No torch.
"""

import json
import math
import pathlib
import random
import subprocess
import tempfile
import unittest

from options import OPTIONS, main

N = 3  # elements of a tensor


def tensor(storage, n=N):
    return ["t", storage, 0, [n], [1], "float32"]


def lines_of(ops, out, n):
    """A plan that starts from a and b and ends with storage `out`; an operator is (name, arguments, storage)."""
    yield {"plan": 1, "rank": 0, "world": 1}
    for i, name in enumerate("ab"):
        yield {"init": "param", "name": name, "t": tensor(i, n), "global": [n], "at": [0]}
    for name, args, to in ops:
        sizes = 1 if name.startswith("aten.sum") else n
        yield {"op": name, "a": args, "out": to if isinstance(to, list) else [tensor(to, sizes)], "src": ["train.py:5, in step", ""]}
    size = 1 if ops and ops[-1][0].startswith("aten.sum") else n
    yield {"result": "y", "t": tensor(out, size), "global": [size], "at": [0]}


def check(ops, out, n=N, reference=None):
    """(summary, text); the reference is the same, or other (operators, storage)."""
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp) / "a plan"
        for place, (of_job, at) in ((folder, (ops, out)), (folder / "one", reference or (ops, out))):
            place.mkdir()
            (place / "plan-rank00000.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines_of(of_job, at, n)))
        command = [OPTIONS.bin / "traincheck-check", "--plan", folder, "--plan-reference", folder / "one", "-o", folder / "out",
                   "--no-html-report"]
        done = subprocess.run([*command, "--json"], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1]), subprocess.run(command, capture_output=True, text=True).stdout


def attention(n, *steps):
    """Storages 2 and 3: attention of b and its log, by a; 4 and 5: of a, by b. Then steps: (operator, storages it reads)."""
    ops = []
    for k in range(2):
        q, other = (["t", s, 0, [1, 1, n, 1], [n, n, 1, 1], "float32"] for s in (k, 1 - k))
        out = [["t", 2 + 2 * k, 0, [1, 1, n, 1], [n, n, 1, 1], "float32"], tensor(3 + 2 * k, n)]
        ops.append(("aten._scaled_dot_product_flash_attention_for_cpu.default", {"query": q, "key": other, "value": other}, out))
    for name, *storages in steps:
        args = dict(zip(("self", "other"), (tensor(s, n) for s in storages)))
        ops.append((f"aten.{name}." + ("Tensor" if len(args) > 1 else "default"), args, 4 + len(ops)))
    return ops, 3 + len(ops)


def squares(k):
    """a multiplied by itself, k times over: degree 2 ** k."""
    return [("aten.mul.Tensor", {"self": tensor(i + 1 if i else 0), "other": tensor(i + 1 if i else 0)}, i + 2)
            for i in range(k)], k + 1


class Known(unittest.TestCase):
    def bits(self, ops, out, n=N):
        said = check(ops, out, n)[0]
        return said["error_bits"], said["seeds"]

    def expect(self, chances, ops, out):
        bits, seeds = self.bits(ops, out)
        self.assertEqual(bits, int(seeds * (120 - math.log2(chances))))

    def test_products_add_degrees(self):
        for k in (1, 5, 20):
            self.expect(2 ** k, *squares(k))

    def test_a_sum_is_as_high_as_its_highest_term(self):
        ops, out = squares(3)
        ops.append(("aten.add.Tensor", {"self": tensor(out), "other": tensor(1)}, out + 1))
        self.expect(8, ops, out + 1)

    def test_inverses_are_cleared(self):
        """a / b has the degree of a, a factor that may be a number, and twice that of all that is inverted."""
        self.expect(2 + 2 * (N + N), [("aten.div.Tensor", {"self": tensor(0), "other": tensor(1)}, 2)], 2)

    def test_a_function_starts_anew_and_may_collide(self):
        ops, out = squares(10)
        exp = ("aten.exp.default", {"self": tensor(out)}, out + 1)
        total = ("aten.sum.default", {"self": tensor(out + 1)}, out + 2)
        applications = N + N + 1
        self.expect(1 + applications ** 2 / 2 * (1024 + 2), [*ops, exp, total], out + 2)

    def test_a_sigmoid_is_a_silu_by_its_argument(self):
        ops, k, applications = [("aten.sigmoid.default", {"self": tensor(0)}, 2)], 10, N + N + 1
        ops += [("aten.mul.Tensor", {"self": tensor(2 + i), "other": tensor(2 + i)}, 3 + i) for i in range(k)]
        ops.append(("aten.sum.default", {"self": tensor(2 + k)}, 3 + k))
        self.expect(2 ** k + 2 * 2 ** k * (N + N) + applications ** 2 / 2 * (1 + 2), ops, 3 + k)

    def test_applications_in_other_elements_of_a_step_do_not_meet(self):
        """Each of 100 parameters has a root; one result rests on its own."""
        def bits(n):
            roots = [("aten.sqrt.default", {"self": tensor(0)}, 2 + i) for i in range(n)]
            said, seeds = self.bits(roots, 2)
            return said / seeds

        self.assertAlmostEqual(bits(1), bits(100), delta=1)

    def test_an_element_of_an_optimizer_step_rests_on_one_application(self):
        many = 500
        exp = ("aten.exp.default", {"self": tensor(0, many)}, 2)
        total = ("aten.sum.default", {"self": tensor(2, many)}, 3)
        last, seeds = self.bits([exp], 2, many)
        mixed, as_many = self.bits([exp, total], 3, many)
        self.assertGreater(last / seeds, mixed / as_many + 10)

    def test_a_log_has_no_factor_of_what_it_is_taken_of(self):
        """The logs of attention are weighed against each other; then the job applies a function."""
        n = 20
        one = attention(n, ("exp", 3), ("exp", 5), ("add", 6, 7), ("div", 6, 8), ("tanh", 9), ("sum", 10))
        job = attention(n, ("sub", 3, 5), ("sigmoid", 6), ("tanh", 7), ("sum", 8))
        said = check(*job, n, reference=one)[0]
        self.assertEqual((said["verdict"], said["laws"], said["seeds"]), ("verified", "free", 2))
        self.assertGreater(said["error_bits"] / said["seeds"], 95)

    def test_weak_evaluations_are_repeated(self):
        weak, strong = self.bits(*squares(95)), self.bits(*squares(1))
        self.assertGreaterEqual(weak[0], 80)
        self.assertGreater(weak[1], strong[1])

    def test_what_has_no_bound_is_said(self):
        said, text = check(*squares(121))
        self.assertEqual((said["error_bits"], said["verdict"]), (0, "verified"))
        self.assertIn("no bound of the error", text)

    def test_a_choice_by_order_is_said(self):
        said, text = check([("aten.maximum.default", {"self": tensor(0), "other": tensor(1)}, 2),
                            ("aten.maximum.default", {"self": tensor(2), "other": tensor(1)}, 3)], 3)
        self.assertEqual(said["verdict"], "verified")
        self.assertNotIn("choose", text)  # of what nothing was computed before
        said, text = check([("aten.mul.Tensor", {"self": tensor(0), "other": tensor(1)}, 2),
                            ("aten.maximum.default", {"self": tensor(2), "other": tensor(1)}, 3)], 3)
        self.assertIn("aten.maximum at train.py:5", text)


class Expression:
    """A random program of sums, products and inverses over 4 variables, with the degrees that the tool would count."""

    def __init__(self, seed):
        chosen = random.Random(seed)
        self.steps = [(chosen.choice("++**/"), chosen.randrange(4 + i), chosen.randrange(4 + i)) for i in range(6)]
        self.degrees, self.inverted = [(1, 0, 0)] * 4, {}
        for how, i, k in self.steps:
            a, b = self.degrees[i], self.degrees[k]
            level = max(a[2], b[2])
            if how == "+":
                made = max(a[0], b[0]), max(a[1], b[1]), level
            elif how == "*":
                made = a[0] + b[0], a[1] + b[1], level
            else:
                self.inverted.setdefault(b[2] + 1, []).append(b)
                made = a[0], a[1] + 1, max(a[2], b[2] + 1)
            self.degrees.append(made)

    def value(self, at, p):
        values = list(at)
        for how, i, k in self.steps:
            a, b = values[i], values[k]
            if how == "/" and b == 0:
                return None
            values.append((a + b if how == "+" else a * b if how == "*" else a * pow(b, -1, p)) % p)
        return values[-1]


def degree_of(x, y):
    """That of the difference of two, cleared of all inverses."""
    cleared = {0: 0}
    for level in range(1, 9):
        all_of = x.inverted.get(level, []) + y.inverted.get(level, [])
        cleared[level] = cleared[level - 1] + sum(own + 2 * inverses * cleared[level - 1] for own, inverses, _ in all_of)
    own, inverses, level = (max(pair) for pair in zip(x.degrees[-1], y.degrees[-1]))
    return own + 2 * inverses * cleared[level]


class Small(unittest.TestCase):
    def test_the_bound_holds_in_a_small_field(self):
        p, large, tried, worst = 101, 2 ** 61 - 1, 0, 0
        drawn = random.Random(5)
        for seed in range(150):
            x, y = Expression(seed), Expression(seed + 1000)
            far = [drawn.randrange(1, large) for _ in range(4)]
            degree = degree_of(x, y)
            if x.value(far, large) == y.value(far, large) or degree > p // 3:
                continue
            equal, n = 0, 600
            for _ in range(n):
                at = [drawn.randrange(p) for _ in range(4)]
                values = x.value(at, p), y.value(at, p)
                equal += values[0] is not None and values[0] == values[1]
            tried += 1
            bound = degree / p
            self.assertLess(equal / n, bound + 5 * math.sqrt(bound * (1 - bound) / n), (seed, degree))
            worst = max(worst, equal / n / bound)
        self.assertGreater(tried, 50)
        self.assertGreater(worst, 0.3)  # and it is no empty promise


if __name__ == "__main__":
    main("--bin")
