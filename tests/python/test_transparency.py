# SPDX-License-Identifier: Apache-2.0
"""What a script can see of the tracer: nothing."""
import json
import pathlib
import unittest

from traced import BIN, Case, InTurn, PYTHON, Warm, has_package, script, warm_python

NET = """
import torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(3)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
    def forward(self, x):
        return F.relu(self.l(x))
net = Net()
"""


class Same(InTurn):
    PLAIN_TOO = True
    HOST = Case

    def same(self, traced, plain):
        self.assertTrue(plain.out)
        self.assertEqual((traced.out, traced.err), (plain.out, plain.err))


class Objects(Same):
    """Objects of torch and of the user, what is computed with them, and what torch.compile makes of them."""

    @script(NET + """
import copy, functools, inspect, pickle
print(pickle.loads(pickle.dumps(F.relu)) is F.relu, copy.deepcopy(F.relu) is F.relu)
print(inspect.signature(F.cross_entropy), inspect.signature(nn.Module.train), inspect.signature(torch.optim.SGD.step))
print(len(inspect.getsource(F.relu)), inspect.isfunction(F.relu), type(torch.add), type(torch.Tensor.normal_))
print(F.relu.__code__.co_filename[-13:], F.relu.__qualname__, functools.wraps(F.relu)(lambda: 0).__wrapped__ is F.relu)
print(torch.add.__doc__[:20], F.relu in torch.overrides.get_testing_overrides())
""")
    def test_identity_pickle_signature_source(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
s = torch.jit.script(net); print(s.code)
t = torch.jit.trace(net, torch.ones(1, 4)); print(t.code, t.graph)
print([n.op for n in torch.fx.symbolic_trace(net).graph.nodes])
""")
    def test_scripting_and_tracing(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
class Sub(torch.Tensor):
    log = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append(func.__name__); return super().__torch_function__(func, types, args, kwargs or {})
y = F.relu(torch.ones(4).as_subclass(Sub)); torch.softmax(y, -1); print(Sub.log)
class Functions(TorchFunctionMode):
    log = []
    def __torch_function__(self, f, types, args=(), kwargs=None):
        self.log.append(f.__name__); return f(*args, **(kwargs or {}))
with Functions(): net(torch.ones(1, 4)); F.softmax(torch.ones(3), -1)
print(Functions.log)
class Dispatch(TorchDispatchMode):
    log = []
    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        self.log.append(str(f)); return f(*args, **(kwargs or {}))
with Dispatch(): net(torch.ones(1, 4)).sum().backward()
print(Dispatch.log)
""")
    def test_overrides_and_modes(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
class Sub(torch.Tensor):
    log = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append(func.__name__); return super().__torch_function__(func, types, args, kwargs or {})
class Dispatch(TorchDispatchMode):
    log = []
    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        self.log.append(str(f)); return f(*args, **(kwargs or {}))
def train(net, o):
    for i in range(2): o.zero_grad(); net(torch.ones(1, 4)).sum().backward(); o.step()
net.l.weight = nn.Parameter(net.l.weight.detach().as_subclass(Sub)); Sub.log.clear()
train(net, torch.optim.SGD(net.parameters(), 0.1)); print(Sub.log)
with FakeTensorMode(): fake = Net(); train(fake, torch.optim.SGD(fake.parameters(), 0.1))
other = Net()
with Dispatch(): train(other, torch.optim.SGD(other.parameters(), 0.1))
print(Dispatch.log)
""")
    def test_parameters_of_other_classes(self, traced, plain):
        """To look at them runs no code of theirs, nor operators that a mode of the user's would see."""
        self.same(traced, plain)

    @script(NET + """
from torch.func import grad, vmap
print(vmap(lambda v: F.softmax(v, -1))(torch.ones(3, 4)), grad(lambda v: F.relu(v).sum())(torch.ones(3)))
""")
    def test_function_transforms(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
o = torch.optim.AdamW(net.parameters(), lr=0.01); s = torch.optim.lr_scheduler.StepLR(o, 3)
for i in range(8):
    o.zero_grad(); l = net(torch.randn(5, 4)).square().mean(); l.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0); o.step(); s.step()
print([p.tolist() for p in net.parameters()], [p._version for p in net.parameters()])
print(torch.get_rng_state().sum().item(), torch.is_grad_enabled(), sorted(net.__dict__), sorted(o.__dict__))
""")
    def test_training_is_the_same_bit_for_bit(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
import gc, weakref
def f():
    n = Net(); o = torch.optim.SGD(n.parameters(), 0.1); x = torch.ones(1, 4); y = n(x); y.sum().backward(); o.step()
    class Local(nn.Module):
        def forward(self, x): return x
    k = Local(); k(x)
    return [weakref.ref(v) for v in (n, o, x, y, k, Local, n.l.weight)]
refs = f(); gc.collect(); print([r() is None for r in refs])
""")
    def test_objects_die_when_the_user_lets_go(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
import io
b = io.BytesIO(); torch.save(net, b); b.seek(0); other = torch.load(b, weights_only=False)
print(type(other), sorted(other.__dict__), torch.equal(other.l.weight, net.l.weight), len(b.getvalue()))
""")
    def test_whole_modules_are_saved_and_loaded(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
x = torch.ones(2); y = torch.zeros(2); F.relu(x); F.relu(y)
torch.utils.swap_tensors(x, y); print(x, y)
o = torch.optim.SGD(net.parameters(), 0.1); o.zero_grad()
torch.utils.swap_tensors(net.l.bias, nn.Parameter(torch.ones(4))); print(net.l.bias)
torch.__future__.set_swap_module_params_on_conversion(True)
net(torch.ones(1, 4)).sum().backward(); o.step(); net.to(torch.float64)
torch.__future__.set_swap_module_params_on_conversion(False)
print(net.l.weight.dtype, net.l.weight.grad.dtype, net.l.weight)
""")
    def test_tensors_can_be_swapped(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
import traceback
try: F.cross_entropy(torch.ones(2, 2), torch.ones(5, dtype=torch.long))
except ValueError: print(traceback.format_exc())
try: torch.zeros("x")
except TypeError as e: print(str(e)[:60])
try: net(1, 2, 3)
except TypeError: print(traceback.format_exc())
""")
    def test_errors_of_the_user_pass_untouched(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
import threading
def work(): [net(torch.ones(2, 4)).sum().backward() for _ in range(50)]
ts = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]; print(net.l.weight.grad.sum())
""")
    def test_threads(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
import torch._dynamo
from torch._dynamo.utils import counters
e = torch._dynamo.explain(net)(torch.ones(1, 4)); print(e.graph_count, e.graph_break_count)
c = torch.compile(net, backend="eager", fullgraph=True)
print(torch.equal(c(torch.ones(1, 4)), net(torch.ones(1, 4))))
print(dict(counters["frames"]), dict(counters["graph_break"]))
""")
    def test_dynamo_graphs_and_breaks(self, traced, plain):
        self.same(traced, plain)

    @script(NET + """
from torch._dynamo.utils import counters
class Broken(nn.Module):
    def __init__(self):
        super().__init__(); self.net = Net(); self.head = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5))
    def forward(self, x):
        y = self.net(x)
        if y.sum() > 1e9: print("never")
        torch._dynamo.graph_break()
        return F.log_softmax(self.head(y), -1)
for backend in ("eager", "aot_eager"):
    torch._dynamo.reset(); counters.clear(); torch.manual_seed(1)
    model = Broken(); o = torch.optim.AdamW(model.parameters(), lr=0.01)
    compiled = torch.compile(model, backend=backend)
    for i in range(6):
        if i == 4: model.eval()
        o.zero_grad(); compiled(torch.randn(3 + i % 2, 4)).sum().backward(); o.step()
    print(backend, [p.tolist() for p in model.parameters()])
    for name in ("frames", "graph_break", "stats", "unimplemented"): print(name, dict(counters[name]))
""")
    def test_compiled_training(self, traced, plain):
        """Graphs, breaks and recompilations are counted by dynamo itself; results are compared bit for bit. What is
        compiled is invisible, what stands around it and what becomes of the parameters is not."""
        self.same(traced, plain)
        for name in ("optim.Optimizer.zero_grad", "optim.Optimizer.step", "Tensor.backward"):
            self.assertEqual(len(self.calls(traced, fn=f"torch.{name}")), 12, name)
        changed = [r["var"] for r in traced.records() if r["type"] == "var" and "data" in r["attrs"] and "kind" not in r]
        self.assertGreaterEqual(len(changed), 12 * 4)  # two models of two layers, six steps each


class Surroundings(Case):
    def assert_same(self, plain, traced):
        self.assertEqual((traced.code, traced.out, traced.err), (plain.code, plain.out, plain.err))
        self.assertEqual(plain.code, 0, plain.err)
        self.assert_no_errors(traced)
        return traced

    def test_surroundings_and_that_nothing_is_written_beside_the_script(self):
        self.script("x = 1", "helper.py")
        text = NET + """
import helper; net(torch.ones(1, 4))
import os, sys, types
ours = ("TRAINCHECK_", "PYTHONPATH")  # children find the agent by these
print({k: v for k, v in os.environ.items() if not k.startswith(ours)}, sys.path[0], sys.flags, sys.argv)
main = sys.modules["__main__"]
print(sorted(vars(main)), main.__file__, main.__spec__, main.__doc__, main.__package__, type(main.__loader__).__name__)
print(isinstance(net, nn.Module), isinstance(torch.ones(1), torch.Tensor), type(net).__mro__, isinstance(F.relu, types.FunctionType))
print(os.getcwd(), sys.gettrace(), sys.getprofile())
import threading; print(threading.active_count(), [t.name for t in threading.enumerate()])
"""
        plain, before = self.plain(text), set(self.work.rglob("*"))
        self.assert_same(plain, self.traced(text))
        trace = self.work / "trace"
        self.assertEqual([f for f in self.work.rglob("*") if f not in before and trace not in (f, f.parent)], [])

    def test_loaders_by_each_start_method(self):
        script, env = self.script(NET + """
from torch.utils.data import DataLoader
class Data(torch.utils.data.Dataset):
    def __len__(self): return 6
    def __getitem__(self, i): return torch.rand(2) + i, F.relu(torch.randn(1))
if __name__ == "__main__":
    for how, n in ("fork", 2), ("spawn", 1), ("forkserver", 1):
        for batch in DataLoader(Data(), batch_size=2, num_workers=n, shuffle=True, multiprocessing_context=how):
            print(how, [part.tolist() for part in batch])
    print(torch.get_rng_state().sum().item())
"""), {"WARM_SPAWNS": "1"}
        self.assert_same(self.execute([warm_python(), script], None, env), self.collect(script, python=warm_python(), env=env))


class Observers(Warm):
    """Profilers, coverage and debuggers see the user's program as they would without us."""

    TEXT = NET + """
def step(o):
    o.zero_grad()
    net(torch.ones(2, 4)).sum().backward()
    o.step()
def main():
    o = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(3):
        step(o)
main()
"""

    def both(self, options, text=TEXT, stdin=None):
        path = self.script(text)
        plain = self.execute([self.python, *options, path], None, stdin=stdin)
        traced = self.collect(*options, path, stdin=stdin)
        self.assertEqual(plain.code, 0, plain.err)
        self.assertEqual((traced.code, traced.err), (plain.code, plain.err))
        self.assertEqual(len(self.calls(traced, fn="torch.optim.Optimizer.step")), 3)
        return plain, traced

    def test_profile(self):
        """Calls of the user's and of torch's functions are counted as before, and none of ours at each step."""
        text = self.TEXT.replace("\nmain()", """
import cProfile, pstats
o = torch.optim.SGD(net.parameters(), 0.1); step(o); step(o)
p = cProfile.Profile(); p.runcall(step, o)
for (file, _, name), (_, calls, *_) in sorted(pstats.Stats(p).stats.items()):
    print(file, name, calls)
""")
        plain, traced = self.both([], text)
        self.assertEqual(traced.out, plain.out)

    @unittest.skipUnless(has_package("coverage"), "this measures coverage")
    def test_coverage(self):
        plain, traced = (self.covered(file) for file in ("plain", "traced"))
        self.assertEqual(traced, plain)
        self.assertEqual([pathlib.Path(file).name for file in plain], ["script.py"])

    def covered(self, file):
        """What coverage.py says of each source file: lines and branches that ran, and those that did not."""
        measure = ["-m", "coverage", "run", "--branch", "--data-file", self.work / file]
        script = self.script(self.TEXT)
        run = self.collect(*measure, script) if file == "traced" else self.execute([self.python, *measure, script], None)
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        said = self.execute([PYTHON, "-m", "coverage", "json", "--data-file", self.work / file, "-o", "-"], None)
        self.assertEqual((said.code, said.err), (0, ""))
        return json.loads(said.out)["files"]

    def test_line_counts(self):
        covers = self.work / "covers"  # else they go beside each module that ran, which root may, and others may not
        made = "_remote_module_non_scriptable"  # by torch, under a name without a file, or in a folder with another name each time
        plain, traced = self.both(["-m", "trace", "--count", "--summary", "--coverdir", covers,
                                   f"--ignore-dir={':'.join(self.folders_of_python())}", f"--ignore-module={made},<{made}>"])
        self.assertEqual(self.own_lines(traced.out), self.own_lines(plain.out))
        self.assertTrue(self.own_lines(plain.out))

    def folders_of_python(self):
        """Where all but the script lies: to count the lines of torch's import takes minutes."""
        said = self.execute([PYTHON, "-c", "import sys; print(sys.prefix, sys.base_prefix, sep='\\n')"], None)
        return [*said.out.splitlines(), str(BIN.resolve().parent)]

    def own_lines(self, text):
        return [line for line in text.splitlines() if "script" in line]

    def test_debugger(self):
        commands = "break step\ncontinue\nwhere\nargs\nnext\nnext\np net.l.weight.grad is None\nclear 1\ny\nreturn\ncontinue\n"
        plain, traced = self.both(["-m", "pdb"], stdin=commands)
        self.assertEqual(traced.out, plain.out)
        self.assertIn("o.step()", plain.out)


class Memory(Warm):
    TEXT = """
        import sys, torch
        import torch.nn.functional as F
        kept = []
        def use():
            many = [torch.empty(0) for _ in range(1000)]
            for x in many:
                F.relu(x)
            while many:  # what takes their places makes the next ones stand elsewhere
                many.pop()
                kept.append((0, 0, 0, 0, len(kept)))
        use()
        before = sys.getallocatedblocks()
        for _ in range(50):
            use()
        print(sys.getallocatedblocks() - before)
    """

    def test_objects_that_are_gone_are_forgotten(self):
        plain, traced = (int(run.out) for run in (self.plain(self.TEXT), self.traced(self.TEXT)))
        self.assertLess(traced - plain, 10_000)  # of 50,000 tensors


if __name__ == "__main__":
    unittest.main()
