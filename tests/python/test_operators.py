# SPDX-License-Identifier: Apache-2.0
"""Operators: what the script computes by lines of its own is in the trace, what libraries do for it is not."""
import sys
import unittest

from traced import PYTHON, Warm

SCRIPT = """
import torch
x = torch.arange(6.0).reshape(2, 3)
w = torch.nn.Parameter(torch.ones(3))
y = 1 - 2 * x[0] / w
(y == 0).sum()
torch.minimum(x, x)
with torch.no_grad():
    w.mul_(0.5)
print(torch.nn.functional.softmax(x, 1).sum().item(), y.tolist(), x[:, 1].tolist(), x[torch.tensor([1])].shape)
opt = torch.optim.Adam([w], foreach=False)
w.sum().backward()
opt.step()

class Ones(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return x[0] + i
for batch in torch.utils.data.DataLoader(Ones(), batch_size=2): pass
x[1, :2] = y[:2]
del opt
"""


# Of each module, and by each kind of name; what only asks for something beside them.
NAMES = """
import torch
x = torch.rand(3, 4)
x.softmax(dim=1).clamp_min(0.1).t()
mask = (x > 0) & (x < 2)
mask ^= True
torch.arange(4) // 2
torch.linalg.norm(x); torch.special.expit(x); torch.fft.rfft(x); torch.unique(mask); torch.einsum("ij->j", x)
x.numel(), x.size(), x.is_contiguous(), x.stride(), x.sum().item(), x.tolist(), x.cpu(), torch.is_tensor(x), torch.get_num_threads()
"""

LARGE = """
import torch
class Numbers(torch.utils.data.Dataset):
    def __len__(self): return 100
    def __getitem__(self, i): return torch.zeros(2) + i
for batch in torch.utils.data.DataLoader(Numbers(), batch_size=50): pass
x = torch.zeros(2)
x[1:] = 2
try: x[5] = 1
except IndexError: print(x.tolist(), "refused")
"""


LOOP = """
import torch
x, last = torch.rand(300), torch.tensor(0.0)
for i in range(300):
    last = x[i] + 0.9 * last
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    for i in range(200):
        last = last + x[i]
    model(torch.ones(1, 1)).sum().backward(); optimizer.step()
"""


DRAWS = """
import random, numpy, torch
random.seed(3); numpy.random.seed(4); rng = numpy.random.default_rng(5)
items = list(range(20)); random.shuffle(items)
print(random.random(), random.choice("ab"), random.sample(items, 3), random.Random(6).randint(1, 9), random.getrandbits(4))
order = rng.permutation(6)
print(torch.arange(6)[order].tolist(), torch.from_numpy(rng.normal(size=(2, 3))).shape, int(rng.integers(9)), numpy.random.rand(2).shape)
print(numpy.random.RandomState(7).choice(5, size=2, replace=False).tolist(), torch.randperm(3).shape)
class Noisy(torch.utils.data.Dataset):
    def __len__(self): return 40
    def __getitem__(self, i): return torch.zeros(1) + random.random()
for batch in torch.utils.data.DataLoader(Noisy(), batch_size=40): pass
"""


class Operators(Warm):
    def calls(self, *options):
        run = self.traced(SCRIPT, options=options)
        self.assert_no_errors(run)
        self.assertIn("[1.0, -1.0, -3.0] [1.0, 4.0] torch.Size([1, 3])", run.out)
        self.head = next(r for r in run.records() if r["type"] == "process")
        role = {r["fn"]: r["role"] for r in run.records() if r["type"] == "api"}
        return [r for r in run.records() if r["type"] == "call" and role[r["fn"]] == "operator"]

    def test_symbols_have_the_names_of_methods(self):
        calls = self.calls()
        self.assertEqual([r["fn"].removeprefix("torch.").removeprefix("Tensor.") for r in calls],
                         ["reshape", "__getitem__", "mul", "div", "rsub", "eq", "sum", "minimum", "mul_",
                          "sum", "__getitem__", "tensor", "__getitem__", "sum",
                          *["__getitem__", "add"] * 4, "__getitem__", "__setitem__"])
        self.assertIs(self.head["operators"], True)
        self.assertEqual(calls[4]["args"], {"other": 1})
        self.assertEqual(calls[7]["alias"], [["args.input", "args.other"]])

    def test_whatever_torch_computes_is_one(self):
        run = self.traced(NAMES)
        self.assert_no_errors(run)
        role = {r["fn"]: r["role"] for r in run.records() if r["type"] == "api"}
        calls = [r for r in run.records() if r["type"] == "call" and role[r["fn"]] == "operator"]
        self.assertEqual([r["fn"].removeprefix("torch.").removeprefix("Tensor.") for r in calls],
                         ["softmax", "clamp_min", "t", "gt", "lt", "logical_and", "logical_xor_", "floor_divide",
                          "linalg.norm", "special.expit", "fft.rfft", "unique", "sum"])
        self.assertEqual([calls[0]["args"], calls[1]["args"], calls[7]["args"]],
                         [{"dim": 1, "dtype": None}, {"min": 0.1}, {"other": 2}])

    def test_an_index_shows_its_bounds(self):
        written = self.calls()[-1]
        self.assertEqual(written["args"]["index"], [1, {"object": "slice", "attrs": {"stop": 2}}])
        self.assertEqual(written["args"]["value"]["shape"], [2])
        self.assertEqual(written["self"]["shape"], [2, 3])

    def test_of_a_large_batch_the_first_items_are_told(self):
        run = self.traced(LARGE)
        self.assert_no_errors(run)
        self.assertEqual(run.out, "[0.0, 2.0] refused\n")
        added = [r for r in run.records() if r["type"] == "call" and r["fn"] == "torch.Tensor.add"]
        self.assertEqual(len(added), 32 + 32)

    def test_of_a_long_loop_the_first_turns_are_told(self):
        run = self.traced(LOOP)
        self.assert_no_errors(run)
        at = {}
        for r in run.records():
            if r["type"] == "call" and r["fn"] in ("torch.Tensor.__getitem__", "torch.Tensor.add", "torch.Tensor.mul"):
                at.setdefault((r["at"].rpartition(":")[2], r["fn"].rpartition(".")[2]), []).append(r["step"])
        self.assertEqual({k: len(v) for k, v in at.items()}, {
            ("5", "__getitem__"): 256, ("5", "mul"): 256, ("5", "add"): 256, ("11", "__getitem__"): 400, ("11", "add"): 400})
        self.assertEqual([r["code"] for r in run.records() if r["type"] == "note"], ["loop"])

    def test_draws_outside_of_torch(self):
        run = self.collect(self.script(DRAWS), python=PYTHON)  # which imports NumPy below the agent
        self.assert_no_errors(run)
        role = {r["fn"]: r["role"] for r in run.records() if r["type"] == "api"}
        calls = [r for r in run.records() if r["type"] == "call" and role[r["fn"]] == "draw"]
        names = [r["fn"].removeprefix("numpy.").removeprefix("random.") for r in calls]
        self.assertEqual([n for n in names[:15] if "seed" not in n], [
            "default_rng", "Random.shuffle", "Random.random", "Random.choice", "Random.sample", "Random.randint", "Random.getrandbits",
            "Generator.permutation", "Generator.normal", "Generator.integers", "RandomState.rand", "RandomState.choice", "Random.random"])
        self.assertEqual(names.count("Random.random"), 1 + 16)  # of the items of a batch 32 calls are told, of which each makes two
        ends = {r["id"]: r["value"] for r in run.records() if r["type"] == "return"}
        by_name = dict(reversed(list(zip(names, calls))))
        of_old = {} if sys.version_info >= (3, 11) else {"random": None}  # a parameter that is gone
        self.assertEqual(by_name["Random.shuffle"]["args"], {"x": [{"more": 20}], **of_old})
        self.assertEqual(ends[by_name["Random.sample"]["id"]], [{"more": 3}])
        order = ends[by_name["Generator.permutation"]["id"]]
        self.assertEqual((order["array"], order["shape"], order["dtype"]), ("ndarray", [6], "int64"))
        index = next(r for r in run.records() if r["type"] == "call" and r["fn"] == "torch.Tensor.__getitem__")["args"]["index"]
        self.assertEqual((index["id"], index["digest"]), (order["id"], order["digest"]))

    def test_they_can_be_left_out(self):
        self.assertEqual(self.calls("--no-operators"), [])
        self.assertNotIn("operators", self.head)

    def test_one_of_apis_is_traced_in_libraries_too(self):
        apis = self.script("torch.Tensor.expand\n", "apis.txt")
        run = self.traced("import torch\nx = torch.eye(2)\ntorch.Tensor.expand(x, 2, 2)\nprint(torch.broadcast_tensors(x, x)[0].sum())\n"
                          "torch.distributions.Normal(x, x + 1).expand((3, 2, 2))\n", options=("--apis", apis))
        self.assert_no_errors(run)
        roles = {r["role"] for r in run.records() if r["type"] == "api" and r["fn"] == "torch.Tensor.expand"}
        self.assertEqual(roles, {"function"})
        self.assertGreater(sum(r["type"] == "call" and r["fn"] == "torch.Tensor.expand" for r in run.records()), 1)


if __name__ == "__main__":
    unittest.main()
