# SPDX-License-Identifier: Apache-2.0
"""What is recorded of parameters and buffers, and when."""
import unittest

from traced import Case, Warm

# Each fragment has names of its own; what begins with SETUP's has a model, an optimizer and a batch.
SETUP = """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(2, 3), nn.Linear(3, 1)
    def forward(self, x): return self.head(self.body(x))
model = Net(); o = torch.optim.SGD(model.parameters(), lr=0.1); x = torch.ones(4, 2)
"""

FRAGMENTS = {
    "step": """
o.zero_grad(); model(x).sum().backward(); o.step()
""",
    "frozen head": """
for p in model.head.parameters(): p.requires_grad_(False)
o.zero_grad(); model(x).sum().backward(); o.step()
""",
    "set to zero": """
model(x).sum().backward(); o.step(); o.zero_grad(set_to_none=False)
""",
    "written through data": """
for i in range(2):
    o.zero_grad(); model(x).sum().backward(); o.step()
    model.head.bias.data.add_(1)
""",
    "averaged through data": """
import copy
average = copy.deepcopy(model).requires_grad_(False)
for i in range(3):
    o.zero_grad(); model(x).sum().backward(); o.step()
    for a, p in zip(average.parameters(), model.parameters()): a.data.mul_(0.9).add_(p.data, alpha=0.1)
    if i == 0: average(x)
""",
    "nan and tiny": """
o.zero_grad(); (model(x).sum() * 1e-12).backward(); o.zero_grad()
(model(x).sum() * float('nan')).backward()
""",
    "attributes": """
model.head.weight.tensor_model_parallel = True
model.body.weight.tensor_model_parallel = False
model(x)
""",
    "assigned by hand": """
ps = list(model.parameters())
for i in range(3):
    for p, g in zip(ps, torch.autograd.grad(model(x).sum(), ps)): p.grad = g
    o.step()
""",
    "memory given back": """
flat = torch.ones(6); model.gathered = nn.Parameter(flat[2:])
o.add_param_group({'params': [model.gathered]})
model(x).sum().backward(); o.step(); flat.untyped_storage().resize_(0)
o.zero_grad(); model(x).sum().backward(); o.step()
""",
    "buffers": """
net = nn.BatchNorm1d(2); net(x)
""",
    "buffers assigned": """
class Running(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1); self.register_buffer("mean", torch.zeros(2)); self.register_buffer("last", None)
    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0); self.last = x.sum(0)
        return self.layer(x)
running = Running()
for i in range(4): running(x + i)
""",
    "every dtype": """
import warnings; warnings.filterwarnings("ignore")
values = dict(bf16=torch.ones(2, dtype=torch.bfloat16), f16=torch.ones(2).half(), cx=torch.ones(2, dtype=torch.complex64),
              bits=torch.ones(2, dtype=torch.bool), i8=torch.ones(2, dtype=torch.int8), view=torch.arange(6.0).view(2, 3).t(),
              q=torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), coo=torch.eye(3).to_sparse(),
              meta=torch.ones(3, device="meta"), empty=torch.ones(0))
if hasattr(torch, "float8_e4m3fn"): values["f8"] = torch.ones(4).to(torch.float8_e4m3fn)
for name, value in values.items(): model.register_buffer(name, value)
o.zero_grad(); model(x).sum().backward(); o.step()
with torch.no_grad():
    for name in ("bf16", "f16", "cx", "bits", "i8", "view"): getattr(model, name)[0] = 0
    model.q.copy_(torch.zeros(3)); model.coo.mul_(2)
    if "f8" in values: model.f8.copy_(torch.zeros(4))
""",
    "many at once": """
for o in (torch.optim.AdamW(model.parameters(), fused=True), torch.optim.Adam(model.parameters(), foreach=True)):
    o.zero_grad(); model(x).sum().backward(); o.step()
""",
    "replaced and converted": """
model(x)
model.extra = nn.Parameter(torch.ones(1)); model.head = nn.Linear(3, 1); model(x)
model.to(torch.float64); model(x.double())
""",
    "tied": """
class Tied(nn.Module):
    def __init__(self):
        super().__init__(); self.embed = nn.Embedding(4, 2); self.out = nn.Linear(2, 4, bias=False)
        self.out.weight = self.embed.weight
    def forward(self, i): return self.out(self.embed(i))
tied = Tied(); tied(torch.tensor([1]))
""",
    "sparse gradients": """
table = nn.Embedding(5, 2, sparse=True); o = torch.optim.SparseAdam(table.parameters(), 0.1)
table(torch.tensor([1, 3])).sum().backward(); o.step(); o.zero_grad()
""",
    "wrappers": """
from torch.utils._pytree import tree_map
class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner): return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
    def __init__(self, inner): self.inner = inner
    def __tensor_flatten__(self): return ["inner"], None
    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        bare = lambda value: value.inner if isinstance(value, Wrapper) else value
        out = function(*tree_map(bare, args), **tree_map(bare, kwargs or {}))
        name = function.overloadpacket.__name__
        return args[0] if name.endswith("_") else cls(out) if name in ("detach", "alias") else out
class Hidden(Wrapper): __tensor_flatten__ = property()
class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.told, self.kept = nn.Parameter(Wrapper(torch.ones(2, 1))), nn.Parameter(Hidden(torch.ones(2, 1)))
    def forward(self, x): return x @ self.told + x @ self.kept
holder = Holder(); o = torch.optim.SGD(holder.parameters(), lr=0.1, foreach=False)
for i in range(2): o.zero_grad(); holder(x).sum().backward(); o.step()
""",
    "an optimizer for each parameter": """
each = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}
def use(p): each[p].step(); each[p].zero_grad()
for p in model.parameters(): p.register_post_accumulate_grad_hook(use)
for i in range(3): model(x).sum().backward()
""",
    "kept in plain containers": """
class Hiding(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = [nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU())]
        self.by_name = {"a": (nn.Linear(2, 2), nn.Linear(2, 2))}
        self.get = (lambda hidden: lambda: hidden)(nn.Linear(2, 2))
        self.head = nn.Linear(2, 1)
    def forward(self, x):
        x = self.plain[1](self.plain[0](x))
        return self.head(self.get()(self.by_name["a"][1](x)))
hiding = Hiding(); o = torch.optim.SGD(hiding.parameters(), lr=0.1)
for i in range(2): o.zero_grad(); hiding(x).sum().backward(); o.step()
""",
}

# All in one process. An evaluation closes the last window of each; a seed tells them apart in the trace.
ALL = """
import torch
between = torch.nn.Linear(1, 1).eval(); between(torch.ones(1)); kept = []
for number, (setup, fragment) in enumerate(FRAGMENTS):
    torch.manual_seed(1000 + number)
    names = {"__name__": "__main__"}; kept.append(names)
    exec(compile(setup + fragment, __file__, "exec"), names)
    between(torch.ones(1))
"""


class Variables(Warm):
    @classmethod
    def setUpClass(cls):
        case = cls("test_nothing_failed")
        Case.setUp(case)
        cls.addClassCleanup(case.doCleanups)
        pairs = [(SETUP, text) for text in FRAGMENTS.values()]
        cls.all = case.traced(ALL.replace("FRAGMENTS", repr(pairs)))
        cls.parts, part = {}, []
        names = iter(FRAGMENTS)
        for r in cls.all.records():
            if r.get("fn") == "torch.manual_seed" and r["type"] == "call" and r["args"]["seed"] >= 1000:
                part = cls.parts[next(names)] = []
            part.append(r)

    def setUp(self):
        pass

    def use(self, fragment):
        """Speak of that fragment's records from here on."""
        self.records = self.parts[fragment]
        self.names = {r["var"]: r["name"] for r in self.records if r["type"] == "var" and "name" in r}

    def variables(self):
        """Records of parameters and buffers."""
        settings = {r["var"] for r in self.records if r.get("kind") in ("param_group", "scaler")}
        return [r for r in self.records if r["type"] == "var" and r["var"] not in settings and r["var"] in self.names]

    def values(self, attribute):
        return [r["attrs"][attribute] for r in self.variables() if attribute in r["attrs"]]

    def changes(self, fn, attribute):
        """Names of the variables whose attribute changed inside of each call of fn."""
        out = []
        for call in [r for r in self.records if r["type"] == "call" and r["fn"] == fn]:
            out.append(sorted(self.names[r["var"]] for r in self.variables()
                              if r.get("cause") == call["id"] and attribute in r["attrs"]))
        return out

    def test_nothing_failed(self):
        self.assertEqual((self.all.code, self.all.err), (0, ""))
        self.assert_no_errors(self.all)
        self.assertEqual(list(self.parts), list(FRAGMENTS))

    def test_names_and_first_record(self):
        self.use("step")
        self.assertEqual(sorted(self.names[r["var"]] for r in self.variables() if "kind" in r),
                         ["model.body.bias", "model.body.weight", "model.head.bias", "model.head.weight"])
        for r in self.variables():
            if "kind" in r:
                self.assertEqual(r["kind"], "Parameter")
                self.assertLessEqual({"data", "grad", "dtype", "shape", "device", "layout", "requires_grad", "is_leaf"},
                                     set(r["attrs"]))

    def test_frozen_head(self):
        self.use("frozen head")
        body = ["model.body.bias", "model.body.weight"]
        self.assertEqual(self.changes("torch.optim.Optimizer.step", "data"), [body])
        self.assertEqual(self.changes("torch.Tensor.backward", "grad"), [body])

    def test_zero_grad_clears(self):
        self.use("set to zero")
        self.assertEqual(self.values("grad").count("zero"), 4)

    def loose(self):
        """Names of what changed outside of calls."""
        return sorted(self.names[r["var"]] for r in self.variables()
                      if "data" in r["attrs"] and "cause" not in r and "kind" not in r)

    def test_a_write_through_data_is_seen_at_the_end_of_the_step(self):
        self.use("written through data")
        self.assertEqual(self.loose(), ["model.head.bias"] * 2)

    def test_an_average_kept_through_data_is_seen_once_its_model_has_run(self):
        """Between two steps nothing is looked at in full: each change is told by the end of its window."""
        self.use("averaged through data")
        self.assertEqual(self.loose(), sorted(["average.body.bias", "average.body.weight", "average.head.bias",
                                               "average.head.weight"] * 2))

    def test_params_have_been_introduced(self):
        self.use("step")
        known = set()
        for r in self.records:
            if r["type"] == "var":
                known.add(r["var"])
            self.assertLessEqual(set(r.get("params", ())), known)
        step, = [r for r in self.records if r["type"] == "call" and r["fn"] == "torch.optim.Optimizer.step"]
        self.assertEqual(len(step["params"]), 4)

    def test_nan_and_tiny_gradients(self):
        self.use("nan and tiny")
        self.assertEqual([self.values("grad").count(c) for c in ("nan_or_inf", "tiny")], [4, 4])

    def test_attributes_of_frameworks(self):
        self.use("attributes")
        self.assertEqual([self.names[r["var"]] for r in self.variables() if "tensor_model_parallel" in r["attrs"]],
                         ["model.head.weight"])

    def test_gradients_assigned_by_hand_are_cleared(self):
        self.use("assigned by hand")
        self.assertFalse(any("uncleared" in r for r in self.records))

    def test_memory_that_was_given_back(self):
        self.use("memory given back")
        self.assertIn("model.gathered", self.names.values())

    def test_buffers(self):
        self.use("buffers")
        self.assertEqual(self.changes("torch.nn.Module.__call__", "data")[0],
                         ["net.num_batches_tracked", "net.running_mean", "net.running_var"])

    def test_buffers_that_are_assigned_stay_the_variables_that_they_are(self):
        self.use("buffers assigned")
        self.assertEqual([n for n in self.names.values() if n.startswith("running.")].count("running.mean"), 1)
        self.assertEqual(self.changes("torch.nn.Module.__call__", "data")[:4],
                         [["running.mean"]] + [["running.last", "running.mean"]] * 3)

    def test_every_dtype_and_layout_is_read_and_seen_to_change(self):
        self.use("every dtype")
        first = {r["name"].partition(".")[2]: r["attrs"] for r in self.variables() if "kind" in r}
        self.assertEqual({n: first[n]["layout"] for n in ("bf16", "view", "coo", "meta")},
                         {"bf16": "strided", "view": "strided", "coo": "sparse_coo", "meta": "strided"})
        self.assertIsNone(first["meta"]["data"])
        changed = {self.names[r["var"]].partition(".")[2] for r in self.variables()
                   if "kind" not in r and r["attrs"].get("data")}
        self.assertLessEqual({"bf16", "f16", "cx", "bits", "i8", "view", "q", "coo"}, changed)
        self.assertEqual("f8" in first, "f8" in changed)
        self.assertEqual({"meta", "empty"} & changed, set())

    def test_optimizers_that_update_many_at_once(self):
        self.use("many at once")
        every = ["model.body.bias", "model.body.weight", "model.head.bias", "model.head.weight"]
        self.assertEqual(self.changes("torch.optim.Optimizer.step", "data"), [every, every])

    def test_parameters_added_replaced_and_converted(self):
        self.use("replaced and converted")
        self.assertEqual(list(self.names.values()).count("model.head.weight"), 2)  # two tensors have borne it
        self.assertIn("model.extra", self.names.values())
        self.assertEqual(self.changes("torch.nn.Module.to", "dtype"),
                         [["model.body.bias", "model.body.weight", "model.extra", "model.head.bias", "model.head.weight"]])

    def test_a_tied_parameter_is_one_variable(self):
        self.use("tied")
        self.assertEqual([n for n in self.names.values() if n.startswith("tied.")], ["tied.embed.weight"])

    def test_sparse_gradients(self):
        self.use("sparse gradients")
        self.assertEqual(self.changes("torch.optim.Optimizer.step", "data"), [["table.weight"]])
        self.assertEqual([r["attrs"]["grad"] for r in self.variables() if "grad" in r["attrs"]
                          and self.names[r["var"]] == "table.weight"], ["null", "non_zero", "null"])

    def test_content_of_wrappers_is_what_they_show_to_compilers(self):
        self.use("wrappers")
        self.assertEqual(self.changes("torch.optim.Optimizer.step", "data"), [["holder.told"]] * 2)
        kept = [r["attrs"]["data"] for r in self.variables() if self.names[r["var"]] == "holder.kept" and "data" in r["attrs"]]
        self.assertEqual(kept, [None])

    def test_optimizers_that_step_inside_of_the_backward(self):
        """Each changes its own parameter, whose gradient is there before and gone after."""
        self.use("an optimizer for each parameter")
        order = ["model.head.bias", "model.head.weight", "model.body.bias", "model.body.weight"]
        steps = self.changes("torch.optim.Optimizer.step", "data")
        self.assertEqual([sorted(sum(steps[i:i + 4], [])) for i in (0, 4, 8)], [sorted(order)] * 3)
        self.assertEqual([len(changed) for changed in steps], [1] * 12)
        self.assertEqual(self.changes("torch.optim.Optimizer.zero_grad", "grad"), steps)

    def test_modules_in_plain_containers_are_found_when_they_are_called(self):
        self.use("kept in plain containers")
        weights = sorted(n for n in self.names.values() if n.endswith(".weight"))
        self.assertEqual([n for n in weights if n.startswith("hiding.")],
                         ["hiding.Linear.weight", "hiding.by_name['a'][1].weight", "hiding.head.weight",
                          "hiding.plain[0].weight", "hiding.plain[1].0.weight"])
        self.assertEqual(self.changes("torch.optim.Optimizer.step", "data"), [["hiding.head.bias", "hiding.head.weight"]] * 2)
        graded = {self.names[r["var"]] for r in self.variables() if r["attrs"].get("grad") == "non_zero"}
        self.assertLessEqual({n for n in weights if n.startswith("hiding.")}, graded)


class Chosen(Warm):
    def test_models_to_track(self):
        run = self.traced(SETUP + "other = Net(); third = Net()\nfor m in (model, other, third): m(x)\n",
                          options=["--models-to-track", "other,third"])
        roots = {r["name"].partition(".")[0] for r in run.records() if r["type"] == "var"}
        self.assertEqual(roots, {"other", "third"})


class Answers(Warm):
    def test_where_nothing_steps_all_is_read_each_time_that_twice_as_many_forwards_have_begun(self):
        """A write through data leaves no mark in the version counter, and no window with a step ends."""
        run = self.traced(SETUP + """
for i in range(40):
    with torch.no_grad(): model(x)
    if i == 20: model.head.bias.data.add_(1)
""")
        records = run.records()
        looked = [i for i, r in enumerate(records) if r.get("code") == "looked"]
        bias = next(r["var"] for r in records if r["type"] == "var" and r.get("name") == "model.head.bias")
        written = [i for i, r in enumerate(records) if r.get("var") == bias and "data" in r["attrs"]][1:]
        self.assertEqual((len(looked), len(written)), (2, 1))
        self.assertTrue(looked[0] < written[0] < looked[1])
        self.assertNotIn("cause", records[written[0]])

    def test_once_something_has_stepped_windows_do_it(self):
        run = self.traced(SETUP + """
for i in range(40): model(x).sum().backward(); o.step()
""")
        self.assertFalse([r for r in run.records() if r.get("code") == "looked"])


class Budget(Warm):
    def run_script(self, text, options):
        run = self.traced(text, options=options)
        self.assertEqual((run.code, run.err), (0, ""))
        self.names = {r["var"]: r["name"] for r in run.records() if r["type"] == "var" and "name" in r}
        return run

    def test_models_beyond_the_budget(self):
        run = self.run_script("""
import torch
from torch import nn
class Big(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.frozen, self.top = nn.Linear(2, 600), nn.Linear(600, 600), nn.Linear(600, 600)
        self.frozen.requires_grad_(False)
    def forward(self, x): return self.top(self.frozen(self.small(x)))
big = Big(); x = torch.ones(4, 2); o = torch.optim.SGD(big.parameters(), lr=1e-4)
for step in range(6):
    o.zero_grad()
    big(x).sum().backward()
    o.step()
    if step == 1: big.frozen.weight.data.mul_(0.5)
    if step == 3:
        with torch.no_grad(): big.frozen.weight[333, 77] = 1
""", options=("--digest-budget", "2M"))
        data = {}
        for r in run.records():
            if r["type"] == "var" and "data" in r["attrs"] and self.names[r["var"]].startswith("big."):
                data.setdefault(self.names[r["var"]], []).append((r["step"], r["attrs"]["data"]))
        self.assertEqual({name: [d.startswith("~") for _, d in seen] for name, seen in data.items()}, {
            "big.small.weight": [False] * 7, "big.small.bias": [False] * 7, "big.top.bias": [False] * 7,
            "big.frozen.bias": [False], "big.frozen.weight": [False] * 3, "big.top.weight": [True] * 7})
        self.assertEqual([step for step, _ in data["big.frozen.weight"]], [0, 1, 3])
        run = self.run_script("""
import torch
from torch import nn
big = nn.Sequential(nn.Linear(600, 600), nn.Linear(600, 600)); big[0].requires_grad_(False)
o = torch.optim.SGD(big[1].parameters(), lr=1e-4); x = torch.ones(1, 600)
for step in range(6):
    o.zero_grad()
    big(x).sum().backward()
    o.step()
    if step == 1: big[0].weight.data.zero_()
    if step == 3:
        with torch.no_grad(): big[0].weight[333, 77] = 1
""", options=("--overwrite", "--digest-budget", "1K"))
        seen = [(r["step"], r["attrs"]["data"][0]) for r in run.records() if r["type"] == "var"
                and self.names[r["var"]] == "big.0.weight" and "data" in r["attrs"]]
        self.assertEqual(seen, [(0, "~"), (1, "~"), (3, "~")])


if __name__ == "__main__":
    unittest.main()
