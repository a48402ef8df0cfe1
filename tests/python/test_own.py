# SPDX-License-Identifier: Apache-2.0
"""Functions and classes that the script's own files define: their calls are in the trace, and are around no other call."""
import json
import unittest

from traced import Warm

HELPERS = """
import torch
def mean(values): return sum(values) / len(values)
def _twice(x): return 2 * x
class Scale:
    def __init__(self, by): self.by = by
    def __call__(self, x): return _twice(x) * self.by
    @staticmethod
    def nothing(): return None
"""

SCRIPT = """
import torch
from helpers import Scale, mean
class Data(torch.utils.data.Dataset):
    def __init__(self, n): self.x = torch.arange(3.0 * n).reshape(n, 3)
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return self.x[i]
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 1)
    def forward(self, x): return self.fc(x)
    def norm(self): return sum(p.norm() for p in self.parameters())
def numbers(n):
    yield from range(n)
def factorial(n): return 1 if n < 2 else n * factorial(n - 1)
def login(token): return len(token)
half = lambda x: x / 2
def about(options, address, long, short): pass
@torch.no_grad()
def evaluate(model, loader, name="valid"):
    return mean([model(x).sum().item() for x in loader]), True
def train(model, loader, optimizer, epoch):
    for x in loader:
        optimizer.zero_grad()
        model(scale(x)).sum().backward()
        optimizer.step()
def main():
    global scale
    torch.manual_seed(0)
    scale = Scale(by=0.01)
    fit, held = torch.utils.data.DataLoader(Data(80), 40), torch.utils.data.DataLoader(Data(4), 4)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    for epoch in range(2):
        train(net, fit, optimizer, epoch)
        evaluate(net, held)
    about({"token": "hidden"}, "postgres://me:hidden@host", "hidden" * 20, "shown" if half(3) else "")
    print(factorial(5), sum(numbers(3)), login("secret"), Scale.nothing(), net.norm() > 0, mean([epoch] * 20), [mean([i]) for i in range(50)][-1])
main()
"""


class Own(Warm):
    def setUp(self):
        super().setUp()
        self.script(HELPERS, "helpers.py")

    @classmethod
    def setUpClass(cls):
        """One run of SCRIPT, which several tests read."""
        host = cls()
        host.setUp()
        cls.addClassCleanup(host.doCleanups)
        cls.of_script = host.traced(SCRIPT)

    def calls_of(self, run):
        self.assert_no_errors(run)
        self.role = {r["fn"]: r["role"] for r in run.records() if r["type"] == "api"}
        self.ends = {r["id"]: r for r in run.records() if r["type"] == "return"}
        return [r for r in run.records() if r["type"] == "call" and self.role[r["fn"]] == "own"]

    def test_what_is_traced(self):
        run = self.of_script
        calls = self.calls_of(run)
        self.assertEqual(run.out, "120 3 6 None tensor(True) 1.0 49.0\n")
        names = [r["fn"].removeprefix("__main__.") for r in calls]
        self.assertEqual({name: names.count(name) for name in names}, {
            "helpers.Scale.__init__": 1, "Data.__init__": 2, "train": 2, "Data.__getitem__": 4 * 8 + 2 * 4, "helpers.Scale.__call__": 4,
            "helpers._twice": 4, "evaluate": 2, "helpers.mean": 1 + 32, "factorial": 1, "numbers": 1, "helpers.Scale.nothing": 1, "half": 1, "about": 1,
            "login": 1})
        # main() runs before anything is traced; 32 calls of one function in a step, 8 of one batch. The first
        # evaluation belongs to the step before the last
        self.assertEqual(self.role["torch.nn.Module.__call__"], "forward")
        self.assertEqual(self.role["__main__.Net.norm"], "method")

    def test_a_spawned_process_imports_torch_before_the_script_is_a_module(self):
        run = self.traced("""
import torch
class Draws:
    def __init__(self, n): self.n = n
def loss_of(net, x): return net(x).pow(2).mean()
def work(rank):
    net, draws = torch.nn.Linear(4, 1), Draws(8)
    for i in range(3): loss_of(net, torch.randn(draws.n, 4)).backward()
if __name__ == "__main__": torch.multiprocessing.spawn(work, nprocs=2)
""")
        self.assertEqual((run.code, run.err), (0, ""))
        names = [[r["fn"] for r in run.records(file) if r["type"] == "call" and r["fn"].startswith("__main__.")] for file in run.files()]
        self.assertEqual(names, 2 * [["__main__.Draws.__init__", *3 * ["__main__.loss_of"]]])

    def test_what_is_told_of_a_call(self):
        calls = self.calls_of(self.of_script)
        by_name = {r["fn"].removeprefix("__main__."): r for r in reversed(calls)}
        evaluate = by_name["evaluate"]
        self.assertEqual((evaluate["at"], evaluate["by"]), ("script.py:37", "user"))
        model, loader = evaluate["args"]["model"], evaluate["args"]["loader"]
        self.assertEqual((model["object"], model["name"], model["attrs"]), ("__main__.Net", "net", {"training": True}))
        self.assertEqual((loader["object"], loader["name"], loader["attrs"]), ("torch.utils.data.DataLoader", "held", {}))
        self.assertEqual(evaluate["args"]["name"], "valid")
        self.assertIs(self.ends[evaluate["id"]]["value"][1], True)
        self.assertEqual([r["args"]["epoch"] for r in calls if r["fn"] == "__main__.train"], [0, 1])
        self.assertEqual(by_name["helpers.Scale.__init__"]["args"], {"by": 0.01})
        self.assertEqual([by_name[name]["args"]["x"]["name"] for name in ("helpers.Scale.__call__", "helpers._twice")], ["x", "x"])
        self.assertEqual([r["args"]["values"] for r in calls if r["fn"] == "helpers.mean"][2], [{"more": 20}])

    def test_what_may_be_secret_is_left_out(self):
        run = self.of_script
        about = next(r for r in self.calls_of(run) if r["fn"] == "__main__.about")
        self.assertEqual(about["args"], {"options": {"dict": {"token": {"str": "", "len": 6}}}, "address": {"str": "", "len": 25},
                                         "long": {"str": "", "len": 120}, "short": "shown"})
        self.assertEqual(next(r["args"] for r in self.calls_of(run) if r["fn"] == "__main__.login"), {"token": {"str": "", "len": 6}})

    def test_no_secret_comes_by_another_way(self):
        """As a default, by a name that no parameter has, from a function whose name tells, in a message, or drawn."""
        run = self.traced("""
            import random, torch
            def connect(at="postgres://me:hidden@host", how="fast"): pass
            def configure(**options): pass
            def read_token(): return "hidden"
            def fail(text): raise ValueError(text)
            def main():
                connect()
                configure(password="hidden", rate=0.1)
                read_token()
                for text in "http://me:hidden@host", "hidden" * 20, "no such file":
                    try:
                        fail(text)
                    except ValueError:
                        pass
                random.seed(0)
                random.choice(["hidden" * 20] * 20)
            torch.manual_seed(0)
            main()
        """)
        calls = {r["fn"].removeprefix("__main__."): r for r in self.calls_of(run)}
        address, long = ({"str": "", "len": n} for n in (25, 120))
        self.assertEqual([calls[name]["args"] for name in ("connect", "configure")],
                         [{"at": address, "how": "fast"}, {"password": {"str": "", "len": 6}, "rate": 0.1}])
        self.assertEqual([r["defaults"] for r in run.records() if r.get("fn") == "__main__.connect" and r["type"] == "api"],
                         [{"at": address, "how": "fast"}])
        self.assertEqual(self.ends[calls["read_token"]["id"]]["value"], {"str": "", "len": 6})
        self.assertEqual([r.get("msg") for r in run.records() if r["type"] == "raise"], [None, None, "no such file"])
        self.assertEqual([r["value"] for r in run.records() if r["type"] == "return" and r["value"]][-1:], [long])
        self.assertNotIn("hidden", json.dumps([r for r in run.records() if r["type"] not in ("process", "source")]))

    def test_they_are_around_no_call(self):
        run = self.of_script
        own = {r["id"] for r in self.calls_of(run)}
        self.assertFalse([r for r in run.records() if r.get("parent") in own])
        forward = next(r for r in run.records() if r["type"] == "call" and r["fn"] == "torch.nn.Module.__call__")
        self.assertEqual((forward["self"]["role"], forward["at"]), ("root", "script.py:26"))

    def test_what_a_decorator_of_torch_puts_around_a_function_passes_the_call_on(self):
        """From torch 2.15 on it has the name of the decorator."""
        run = self.traced("""
            import torch
            double = torch.no_grad()(lambda x: x + x)
            double.__code__ = double.__code__.replace(co_name="no_grad")
            torch.manual_seed(0)
            def main(): double(torch.ones(2))
            main()
        """)
        self.assertEqual([(r["by"], r["at"]) for r in self.calls_of(run) if r["fn"] == "__main__.double"], [("user", "script.py:6")])

    def test_a_class_that_one_line_makes_often(self):
        """Also one that has the constructor of another, and one of a package."""
        run = self.traced("""
            import torch
            from torch import nn
            class Mean:
                def __init__(self, n): self.n = n
            class Last(Mean): pass
            torch.manual_seed(0)
            for n in range(12):
                made = Mean(n), Last(n), nn.Dropout(0.1), nn.Dropout1d(0.1)
        """)
        self.assertEqual([(r["self"]["object"], r["args"]["n"]) for r in self.calls_of(run)],
                         [(f"__main__.{name}", n) for n in range(12) for name in ("Mean", "Last")])
        self.assertEqual([r["self"]["object"] for r in run.records() if r["type"] == "call" and self.role[r["fn"]] == "make"],
                         12 * ["torch.nn.Dropout", "torch.nn.Dropout1d"])

    def test_loaders_that_the_script_makes(self):
        run = self.of_script
        self.assert_no_errors(run)
        made = [r for r in run.records() if r["type"] == "call" and r["fn"].startswith("torch.utils.data.") and r["fn"].endswith("__init__")]
        self.assertEqual([r["fn"] for r in made], ["torch.utils.data.DataLoader.__init__"] * 2)
        self.assertEqual([(r["at"], r["args"]["batch_size"], r["args"]["shuffle"]) for r in made],
                         [("script.py:32", 40, None), ("script.py:32", 4, None)])
        self.assertEqual(made[0]["args"]["dataset"]["object"], "__main__.Data")

    def test_a_receiver_has_no_name_of_its_methods(self):
        run = self.traced("""
            import torch
            def look(layer): return 1
            class Layer(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    look(self)
            def main():
                look(Layer())
            torch.manual_seed(0)
            main()
        """)
        self.assertEqual([r["args"]["layer"]["name"] for r in self.calls_of(run) if r["fn"] == "__main__.look"], [None, None])

    def test_looking_for_names_leaves_the_variables_of_a_function_alone(self):
        """Nothing is kept alive, and what locals() gave stays as it was: f_locals did neither before Python 3.13."""
        run = self.traced("""
            import gc, torch, weakref
            def evaluate(model, x): return model(x)
            def main(size):
                inside, net = torch.ones(1, size), torch.nn.Linear(size, 1)
                state = locals()
                known = len(state)
                late = torch.ones(1, size)
                alive = weakref.ref(late)
                for _ in range(2):
                    evaluate(net, late)
                    (lambda: inside)()
                del late
                print(len(state) - known, alive())
            torch.manual_seed(0)
            main(2)
        """)
        self.assertEqual(run.out, "0 None\n")
        self.assertEqual([r["args"]["model"]["name"] for r in self.calls_of(run) if r["fn"] == "__main__.evaluate"], ["net"] * 2)

    def test_objects_of_the_user_are_not_asked(self):
        """A proxy may answer what its class is, and any object what attributes it has, by code that prints or fails."""
        text = """
            import functools, torch
            class Proxy:
                @property
                def __class__(self): raise RuntimeError("outside of its context")
            class Asked:
                def __getattr__(self, name):
                    print("asked for", name)
                    raise AttributeError(name)
                def __call__(self): return 1
            def timed(function):
                @functools.wraps(function)
                def around(*args): return function(*args)
                return around
            proxy, asked = Proxy(), Asked()
            @timed
            def late(x): return x
            torch.manual_seed(0)
            late(asked())
        """
        run, plain = self.traced(text), self.plain(text)
        self.assertEqual((run.out, run.err), (plain.out, plain.err))
        self.assertEqual([r["fn"] for r in self.calls_of(run)], ["__main__.Asked.__call__", "__main__.late"])

    def test_they_can_be_left_out(self):
        run = self.traced(SCRIPT, options=("--no-operators",))
        self.assertEqual(self.calls_of(run), [])


if __name__ == "__main__":
    unittest.main()
