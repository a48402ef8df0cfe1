# SPDX-License-Identifier: Apache-2.0
"""Functions of the script's own that are defined while it trains: each is traced, as often as a loop defines it."""
import collections
import unittest

from traced import Warm

START = """
import functools, resource, torch
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 8)
def train():
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
def noted(function):
    @functools.wraps(function)
    def around(*args): return function(*args)
    return around
optimizer.zero_grad()
"""

LOOP = START + """
def make(by):
    def scaled(x): return by * x
    return scaled
for step in range(4):
    train()
    def metric(k, /, at=step, *rest, flag=bool(step), **options): return float(k) + (lambda: at)()
    print(metric(1), metric(2, 3, 4, flag=None, other=5), metric.__defaults__, metric.__code__.co_name)
    def pair(first, second=2, third=step): return first, second, third
    print(pair(1, third=5), pair(second=1, first=0))
    @noted
    def decorated(k): return k
    half = lambda v: v / 2
    class Meter:
        def __init__(self): self.n = 0
        def __call__(self, n): self.n += n
        @staticmethod
        def name(): return "meter"
    meter = Meter()
    meter(decorated(step))
    print(half(meter.n), Meter.name(), [k for k in range(2)], (lambda: 1)())
    def fail(k): raise ValueError(k)
    try:
        fail(step)
    except ValueError as error:
        print(error)
    try:
        pair()
    except TypeError as error:
        print(error)
    scaled = make(step)
    print(scaled(2))
"""

MANY = START + """
def size():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
train()
for turn in range(100_000):
    def metric(k, at=turn):
        return k
    metric(turn)
    if turn == 10_000:
        before = size()
print("grown" if size() - before > 256 else "not grown")
train()
def late(): return 1
late()
"""


class Again(Warm):
    def own(self, run):
        """(function without its module, arguments) of calls of role own."""
        self.assert_no_errors(run)
        roles = {r["fn"]: r["role"] for r in run.records() if r["type"] == "api"}
        return [(r["fn"].removeprefix("__main__."), r["args"]) for r in self.calls(run) if roles[r["fn"]] == "own"]

    def same(self, text):
        """A run of the script that prints what it prints without the collector."""
        run, plain = self.traced(text), self.plain(text)
        self.assertEqual((run.code, run.out, run.err), (plain.code, plain.out, plain.err))
        return run

    def test_in_each_turn_of_a_loop(self):
        calls = self.own(self.same(LOOP))
        counts = collections.Counter(name for name, _ in calls)
        self.assertGreaterEqual(counts.pop("Meter.__init__"), 3)  # Python 3.13 enters that of a new class past the slot once
        self.assertEqual(counts.pop("make.scaled"), 3)  # by then the name has been looked at
        self.assertIn(counts.pop("pair"), (8, 12))  # before Python 3.12 a call without an argument that is needed is none
        self.assertEqual(counts, {"train": 4, "noted": 4, "metric": 8, "decorated": 4, "half": 4, "make": 4, "Meter.__call__": 4,
                                  "Meter.name": 4, "fail": 4})
        self.assertEqual([args for name, args in calls if name == "metric"],
                         [args for step in range(4) for args in ({"k": 1, "at": step, "flag": bool(step)},
                                                                 {"k": 2, "at": 3, "flag": None, "2": 4, "other": 5})])
        self.assertEqual([args for name, args in calls if name == "pair" and "first" in args],
                         [args for step in range(4) for args in ({"first": 1, "second": 2, "third": 5}, {"first": 0, "second": 1, "third": step})])

    def test_given_to_an_optimizer(self):
        """And called by a line of torch's, before the script names the next one."""
        calls = self.own(self.same("""
            import torch
            torch.manual_seed(0)
            model = torch.nn.Linear(8, 1)
            optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
            x = torch.randn(32, 8)
            for step in range(3):
                def closure(x=x):
                    optimizer.zero_grad()
                    loss = (model(x) - 1).pow(2).mean()
                    loss.backward()
                    return loss.detach()
                optimizer.step(closure)
        """))
        self.assertEqual([(name, args["x"]["name"]) for name, args in calls], 9 * [("closure", "x")])

    def test_once_the_training_goes_on(self):
        """From the first call on, also where another function had the name."""
        calls = self.own(self.same(START + """
def report(): return 1
train()
print(report())
def report(): return 2
def late(n): return n
class Last:
    def see(self): return 3
print(report(), late(1), late(2), Last().see())
def outer():
    def inner(): return 4
    return inner()
print(outer(), (lambda: 5)())
"""))
        self.assertEqual([name for name, _ in calls], ["train", "report", "report", "late", "late", "Last.see", "outer"])

    def test_a_generator(self):
        run = self.same(START + """
for step in range(3):
    train()
    def numbers(n):
        yield from range(n)
    print(sum(numbers(3)), sum(numbers(2)))
""")
        counts = collections.Counter(name for name, _ in self.own(run))
        self.assertIn(counts["numbers"], (0, 6))  # before Python 3.11 nobody sees the call that makes it

    def test_names_of_a_notebook(self):
        """Each cell is code of its own, and binds a name anew."""
        calls = self.own(self.same(START + """
for n in range(3):
    exec(compile(f"def report(): return {n}\\ntrain()\\nprint(report())", f"cell {n}", "exec"), globals())
    exec(f"name_{n} = 1", globals())
"""))
        self.assertEqual([name for name, _ in calls], 3 * ["train", "report"])

    def test_nothing_is_kept_of_a_function(self):
        """256 pages are 10 bytes for each of 100,000 functions. They count as one of those that may be traced."""
        run = self.traced(MANY)
        self.assertEqual((run.code, run.out, run.err), (0, "not grown\n", ""))
        counts = collections.Counter(name for name, _ in self.own(run))
        self.assertEqual(counts, {"train": 2, "metric": 32, "size": 2, "late": 1})


if __name__ == "__main__":
    unittest.main()
