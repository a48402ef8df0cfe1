"""What is recorded of parameters and buffers, and when."""
import unittest

from traced import Case

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


class Variables(Case):
    def run_script(self, text, options=()):
        run = self.traced(SETUP + text, options=options)
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_no_errors(run)
        self.names = {}
        for r in run.records():
            if r["type"] == "var" and "name" in r:
                self.names[r["var"]] = r["name"]
        return run

    def changes(self, run, fn, attribute):
        """Names of the variables whose attribute changed inside of each call of fn."""
        out = []
        for call in self.calls(run, fn=fn):
            out.append(sorted(self.names[r["var"]] for r in run.records()
                              if r["type"] == "var" and r.get("cause") == call["id"] and attribute in r["attrs"]))
        return out

    def test_names_and_first_record(self):
        run = self.run_script("o.zero_grad(); model(x).sum().backward(); o.step()")
        self.assertEqual(sorted(self.names.values()),
                         ["model.body.bias", "model.body.weight", "model.head.bias", "model.head.weight"])
        first = {}
        for r in run.records():
            if r["type"] == "var":
                first.setdefault(r["var"], r)
        for r in first.values():
            self.assertEqual(r["kind"], "Parameter")
            self.assertLessEqual({"data", "grad", "dtype", "shape", "device", "layout", "requires_grad", "is_leaf"},
                                 set(r["attrs"]))

    def test_frozen_head(self):
        run = self.run_script("for p in model.head.parameters(): p.requires_grad_(False)\n"
                              "o.zero_grad(); model(x).sum().backward(); o.step()")
        self.assertEqual(self.changes(run, "torch.optim.Optimizer.step", "data"),
                         [["model.body.bias", "model.body.weight"]])
        self.assertEqual(self.changes(run, "torch.Tensor.backward", "grad"),
                         [["model.body.bias", "model.body.weight"]])

    def test_zero_grad_clears(self):
        run = self.run_script("model(x).sum().backward(); o.step(); o.zero_grad(set_to_none=False)")
        classes = [r["attrs"]["grad"] for r in run.records() if r["type"] == "var" and "grad" in r["attrs"]]
        self.assertEqual(classes.count("zero"), 4)

    def test_a_write_through_data_is_seen_at_the_end_of_the_step(self):
        run = self.run_script("for i in range(2):\n    o.zero_grad(); model(x).sum().backward(); o.step()\n"
                              "    model.head.bias.data.add_(1)")
        loose = [self.names[r["var"]] for r in run.records()
                 if r["type"] == "var" and "data" in r["attrs"] and "cause" not in r and "kind" not in r]
        self.assertEqual(loose, ["model.head.bias", "model.head.bias"])

    def test_params_have_been_introduced(self):
        run = self.run_script("o.zero_grad(); model(x).sum().backward(); o.step()")
        known = set()
        for r in run.records():
            if r["type"] == "var":
                known.add(r["var"])
            self.assertLessEqual(set(r.get("params", ())), known)
        step, = self.calls(run, fn="torch.optim.Optimizer.step")
        self.assertEqual(len(step["params"]), 4)

    def test_nan_and_tiny_gradients(self):
        run = self.run_script("o.zero_grad(); (model(x).sum() * 1e-12).backward(); o.zero_grad(); "
                              "(model(x).sum() * float('nan')).backward()")
        classes = [r["attrs"]["grad"] for r in run.records() if r["type"] == "var" and "grad" in r["attrs"]]
        self.assertEqual(classes.count("nan_or_inf"), 4)
        self.assertEqual(classes.count("tiny"), 4)

    def test_attributes_of_frameworks(self):
        run = self.run_script("model.head.weight.tensor_model_parallel = True\n"
                              "model.body.weight.tensor_model_parallel = False\nmodel(x)")
        having = [self.names[r["var"]] for r in run.records()
                  if r["type"] == "var" and "tensor_model_parallel" in r["attrs"]]
        self.assertEqual(having, ["model.head.weight"])

    def test_gradients_assigned_by_hand_are_cleared(self):
        run = self.run_script("ps = list(model.parameters())\nfor i in range(3):\n"
                              "    for p, g in zip(ps, torch.autograd.grad(model(x).sum(), ps)): p.grad = g\n    o.step()")
        self.assertFalse(any("uncleared" in r for r in run.records()))

    def test_models_to_track(self):
        self.run_script("model(x)", options=["--models-to-track", "other"])
        self.assertEqual([n for n in self.names.values() if n.startswith("model.")], [])

    def test_memory_that_was_given_back(self):
        run = self.run_script("flat = torch.ones(6); model.gathered = nn.Parameter(flat[2:])\n"
                              "o.add_param_group({'params': [model.gathered]})\n"
                              "model(x).sum().backward(); o.step(); flat.untyped_storage().resize_(0)\n"
                              "o.zero_grad(); model(x).sum().backward(); o.step()")
        self.assertIn("model.gathered", self.names.values())

    def test_buffers(self):
        run = self.run_script("net = nn.BatchNorm1d(2); net(x)")
        self.assertEqual(self.changes(run, "torch.nn.Module.__call__", "data"),
                         [["net.num_batches_tracked", "net.running_mean", "net.running_var"]])

    def first_records(self, run):
        return {r["name"].partition(".")[2]: r for r in run.records()
                if r["type"] == "var" and "kind" in r and "name" in r}

    def test_every_dtype_and_layout_is_read_and_seen_to_change(self):
        run = self.run_script("""
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
""")
        first = self.first_records(run)
        self.assertEqual({n: first[n]["attrs"]["layout"] for n in ("bf16", "view", "coo", "meta")},
                         {"bf16": "strided", "view": "strided", "coo": "sparse_coo", "meta": "strided"})
        self.assertIsNone(first["meta"]["attrs"]["data"])
        changed = {self.names[r["var"]].partition(".")[2] for r in run.records()
                   if r["type"] == "var" and "kind" not in r and r["attrs"].get("data")}
        self.assertLessEqual({"bf16", "f16", "cx", "bits", "i8", "view", "q", "coo"}, changed)
        self.assertEqual("f8" in first, "f8" in changed)
        self.assertEqual({"meta", "empty"} & changed, set())

    def test_optimizers_that_update_many_at_once(self):
        run = self.run_script("""
for o in (torch.optim.AdamW(model.parameters(), fused=True), torch.optim.Adam(model.parameters(), foreach=True)):
    o.zero_grad(); model(x).sum().backward(); o.step()
""")
        every = ["model.body.bias", "model.body.weight", "model.head.bias", "model.head.weight"]
        self.assertEqual(self.changes(run, "torch.optim.Optimizer.step", "data"), [every, every])

    def test_parameters_added_replaced_and_converted(self):
        run = self.run_script("""
model(x)
model.extra = nn.Parameter(torch.ones(1)); model.head = nn.Linear(3, 1); model(x)
model.to(torch.float64); model(x.double())
""")
        self.assertEqual(sorted(self.names.values()).count("model.head.weight"), 2)  # two tensors have borne it
        self.assertIn("model.extra", self.names.values())
        self.assertEqual(self.changes(run, "torch.nn.Module.to", "dtype"),
                         [["model.body.bias", "model.body.weight", "model.extra", "model.head.bias", "model.head.weight"]])

    def test_a_tied_parameter_is_one_variable(self):
        run = self.run_script("""
class Tied(nn.Module):
    def __init__(self):
        super().__init__(); self.embed = nn.Embedding(4, 2); self.out = nn.Linear(2, 4, bias=False)
        self.out.weight = self.embed.weight
    def forward(self, i): return self.out(self.embed(i))
tied = Tied(); tied(torch.tensor([1]))
""")
        self.assertEqual([n for n in self.names.values() if n.startswith("tied.")], ["tied.embed.weight"])

    def test_sparse_gradients(self):
        run = self.run_script("""
table = nn.Embedding(5, 2, sparse=True); o = torch.optim.SparseAdam(table.parameters(), 0.1)
table(torch.tensor([1, 3])).sum().backward(); o.step(); o.zero_grad()
""")
        self.assertEqual(self.changes(run, "torch.optim.Optimizer.step", "data"), [["table.weight"]])
        self.assertEqual([r["attrs"]["grad"] for r in run.records() if r["type"] == "var" and "grad" in r["attrs"]
                          and self.names[r["var"]] == "table.weight"], ["null", "non_zero", "null"])


if __name__ == "__main__":
    unittest.main()
