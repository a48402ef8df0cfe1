# SPDX-License-Identifier: Apache-2.0
"""Options that widen or show what is traced; each is given to a real run."""
import functools
import math
import os
import pty
import subprocess
import unittest

from traced import BIN, PYTHON, Warm


class Options(Warm):
    def test_stats(self):
        run = self.traced("""
            import torch
            nan, inf = float("nan"), float("inf")
            torch.nn.functional.relu(torch.tensor([1.0, -2.0, 4.0]))
            torch.stack([torch.tensor([nan, inf, -inf, 0.5], dtype=torch.bfloat16)])
            torch.matmul(torch.tensor([[1, 2], [3, 6]]), torch.tensor([1, 1]))
            torch.zeros(2, dtype=torch.complex64)
            torch.zeros(0)
            torch.full((2, 3), 2.0).t().contiguous().uniform_(1, 1)
        """, options=["--stats"])
        self.assert_no_errors(run)
        records = run.records()
        values = {r["id"]: r["value"] for r in records if r["type"] == "return"}
        of = {r["fn"]: (r, values[r["id"]]) for r in records if r["type"] == "call"}
        call, value = of["torch.nn.functional.relu"]
        # by hand: (1 - 2 + 4) / 3 and, after relu, (1 + 0 + 4) / 3
        self.assertEqual(call["args"]["input"]["stats"],
                         {"min": -2, "max": 4, "mean": 1, "nan": 0, "inf": 0})
        self.assertEqual((value["stats"]["min"], value["stats"]["max"]), (0, 4))
        self.assertTrue(math.isclose(value["stats"]["mean"], 5 / 3))
        self.assertEqual(of["torch.stack"][1]["stats"],
                         {"min": 0.5, "max": 0.5, "mean": 0.5, "nan": 1, "inf": 2})
        self.assertEqual(of["torch.matmul"][1]["stats"],
                         {"min": 3, "max": 9, "mean": 6, "nan": 0, "inf": 0})
        self.assertEqual(of["torch.zeros"][1]["stats"], {"nan": 0, "inf": 0})  # the last one is empty
        self.assertNotIn("stats", of["torch.Tensor.uniform_"][0]["self"])
        self.assertEqual(of["torch.Tensor.uniform_"][1]["stats"],
                         {"min": 1, "max": 1, "mean": 1, "nan": 0, "inf": 0})

    def test_without_stats(self):
        run = self.traced("import torch; torch.ones(2)")
        self.assertNotIn("stats", str(run.records()))

    def test_stack(self):
        text = """
            import torch
            def inner():
                return torch.ones(2)
            def outer():
                return inner()
            def deep(n):
                return deep(n - 1) if n else outer()
            inner()
            deep(5)
        """
        first, last = self.calls(self.traced(text, options=["--stack", "3"]), fn="torch.ones")
        self.assertEqual((first["at"], first["stack"]), ("script.py:4", ["script.py:4", "script.py:9"]))
        self.assertEqual(last["stack"], ["script.py:4", "script.py:6", "script.py:8"])

    def list_apis(self, *options):
        run = self.execute([BIN / "traincheck-collect", "--python", PYTHON, "--list-apis", *options], self.work)
        run.left_there = list(self.work.iterdir())
        return run

    @classmethod
    @functools.lru_cache(maxsize=None)
    def listed(cls):
        """Without options, in an empty folder: two tests ask for it."""
        case = cls()
        case.setUp()
        try:
            return case.list_apis()
        finally:
            case.doCleanups()

    def test_list_apis(self):
        out = self.listed()
        self.assertEqual((out.code, out.err, out.said), (0, "", ""))
        rows = dict(line.split("\t") for line in out.out.splitlines())
        self.assertEqual(list(rows), sorted(rows))
        self.assertEqual({name: rows.get(name) for name in (
            "torch.optim.Optimizer.step", "torch.optim.Optimizer.zero_grad", "torch.Tensor.backward",
            "torch.nn.Module.__call__", "torch.nn.Linear.forward", "torch.nn.functional.relu",
            "torch.optim.lr_scheduler.LRScheduler.step", "torch.mm", "torch.sparse.mm")}, {
            "torch.optim.Optimizer.step": "step", "torch.optim.Optimizer.zero_grad": "zero_grad",
            "torch.Tensor.backward": "backward", "torch.nn.Module.__call__": "forward",
            "torch.nn.Linear.forward": "layer", "torch.nn.functional.relu": "function",
            "torch.optim.lr_scheduler.LRScheduler.step": "scheduler", "torch.mm": "operator",
            "torch.sparse.mm": None})
        self.assertEqual(out.left_there, [])

    def test_listed_apis_are_those_of_a_file(self):
        self.script("def grow(x): return x + 1\nclass Tree:\n    def cut(self): return 1\n", "wood.py")
        apis = self.script("torch.mm  # a comment\n\n\ttorch.Tensor.mm\nwood.Tree.cut\n", "apis.txt")
        usual, wider = (set(run.out.splitlines()) for run in (self.listed(), self.list_apis("--apis", apis)))
        # wood is imported for the sake of one, and lies where the script would
        self.assertEqual(wider - usual, {"torch.mm\tfunction", "torch.Tensor.mm\tfunction",
                                         "wood.Tree.cut\tfunction", "wood.grow\town"})
        self.assertEqual(usual - wider, {"torch.mm\toperator", "torch.Tensor.mm\toperator"})

    def test_apis_of_a_file_are_traced(self):
        apis = self.script("torch.mm\ntorch.Tensor.mm\n", "apis.txt")
        run = self.traced("import torch\nx = torch.eye(2)\ntorch.mm(x, x)\nx.mm(x)\n",
                          options=["--apis", apis, "--strict"])
        self.assertEqual(run.code, 0, run.said)
        function, = self.calls(run, fn="torch.mm")
        method, = self.calls(run, fn="torch.Tensor.mm")
        self.assertEqual(function["args"]["mat2"]["shape"], [2, 2])
        self.assertEqual(method["self"]["shape"], [2, 2])

    def test_functions_of_the_script(self):
        """They are met with the first module, when __main__ has them."""
        run = self.traced("""
            import torch
            def helper(x, k=2): return x * k
            class Tool:
                def use(self, n): return n
            class Net(torch.nn.Module):
                def __init__(self): super().__init__(); self.l = torch.nn.Linear(1, 1)
                def forward(self, x): return helper(self.l(x))
            net = Net()
            helper(1, k=3); Tool().use(4); net(torch.ones(1, 1))
        """, options=["--instrument", "__main__"])
        self.assertEqual(run.code, 0, run.err)
        own = {r["fn"]: r["defaults"] for r in run.records() if r["type"] == "api" and r["fn"].startswith("__main__")
               and "defaults" in r}
        self.assertEqual(own, {"__main__.helper": {"k": 2}})
        first, inner = self.calls(run, fn="__main__.helper")
        self.assertEqual((first["args"], "parent" in first, inner["args"]["k"], "parent" in inner),
                         ({"x": 1, "k": 3}, False, 2, True))
        self.assertEqual([c["args"] for c in self.calls(run, fn="__main__.Tool.use")], [{"n": 4}])

    def test_an_api_that_is_not_there(self):
        apis = self.script("torch.nosuch\n", "apis.txt")
        text = "import torch; torch.ones(1)"
        run = self.traced(text, options=["--apis", apis])
        self.assertEqual(run.code, 0)
        self.assertIn("1 error of tracing", run.said)
        self.assertEqual([r["text"] for r in run.records() if r["type"] == "note"],
                         ["torch.nosuch of --apis is no function that was met"])
        # --strict turns it into a failure, but a job that fails by itself keeps its own status
        for ending, code in ("", 125), ("; import os; os._exit(0)", 125), ("; raise SystemExit(3)", 3):
            run = self.traced(text + ending, options=["--apis", apis, "--strict", "--overwrite"])
            self.assertEqual(run.code, code, ending)
        run = self.collect("--apis", apis, "--strict", "--overwrite", "--", PYTHON, "-c", text)
        self.assertEqual(run.code, 125)
        self.assertIn("1 error of tracing", run.said)

    def on_terminal(self, *args, term="xterm"):
        """What a terminal shows of a run; stdout and stderr are one."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([str(a) for a in (BIN / "traincheck-collect", "--python", self.python,
                                                     "-o", self.work / "trace", "--overwrite", *args)],
                                   cwd=self.work, stdin=theirs, stdout=theirs, stderr=theirs,
                                   env={**os.environ, "TERM": term})
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the terminal's other side is closed
                piece = b""
            if not piece:
                break
            shown += piece
        os.close(ours)
        self.assertEqual(process.wait(), 0, shown)
        return shown.decode()

    def test_progress(self):
        script = self.script("import time, torch\nfor i in range(9): torch.ones(1)\ntime.sleep(1.3)\n")
        status = "\r\x1b[Ktraincheck-collect: 0 steps, "
        for command in [script], ["--", PYTHON, script]:
            shown = self.on_terminal("--progress", *command)
            self.assertIn(status + "21 records, ", shown)  # process, api, source, nine calls and returns
            # with the last window and the end of the process
            self.assertIn("\r\x1b[Ktraincheck-collect: 0 steps, 23 records, ", shown)
            last, following = shown.split("\r\n")[:2]
            self.assertTrue(last.endswith(f" in {self.work / 'trace'}"), shown)
            self.assertEqual(following, "traincheck-collect: next: traincheck-infer --specific "
                                        f"{self.work / 'trace'} -o invariants.jsonl")
        self.assertNotIn(status, self.on_terminal(script))
        self.assertNotIn(status, self.on_terminal("--progress", script, term="dumb"))
        run = self.collect("--progress", "--overwrite", script)  # stderr is no terminal
        self.assertEqual(run.said.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
