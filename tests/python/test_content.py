# SPDX-License-Identifier: Apache-2.0
"""What the trace tells of content: each of these mistakes is told by fields of the trace, and its healthy twin by the same."""
import json
import math
import pathlib
import re
import sys
import unittest

from traced import BIN, InTurn, Warm, decode, script

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "relations"))
import invariant_file  # noqa: E402

MEMBERS = {"digest", "rows", "summary", "value", "constant", "elements"}
LOOP = """
import itertools, sys, torch, torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
"""


def returned(run, fn):
    """The value that each call of fn returned."""
    calls = {r["id"] for r in run.records() if r["type"] == "call" and r["fn"].endswith(fn)}
    return [r["value"] for r in run.records() if r["type"] == "return" and r["id"] in calls]


def arguments(run, fn):
    return [r["args"] for r in run.records() if r["type"] == "call" and r["fn"].endswith(fn)]


def epochs(records):
    """The batches of each iterator of a DataLoader of one process, in order."""
    by_iterator, results = {}, {r["id"]: r["value"] for r in records if r["type"] == "return"}
    for r in records:
        if r["type"] == "call" and r["fn"] == "torch.utils.data.DataLoader.__next__" and r["id"] in results:
            by_iterator.setdefault(r["self"]["id"], []).append(results[r["id"]])
    return list(by_iterator.values())


def digests(batches):
    return [batch[0]["digest"] for batch in batches]


def rows(batches):
    return sorted(text[i:i + 8] for batch in batches for text in [batch[0]["rows"]] for i in range(0, len(text), 8))


class Batches(InTurn):
    SHUFFLED = LOOP + """
torch.manual_seed(1)
data = TensorDataset(torch.randn(32, 4), torch.arange(32))
for epoch in range(2):
    for x, y in DataLoader(data, batch_size=8, shuffle=True): pass
"""

    @script(SHUFFLED)
    def test_a_shuffled_epoch_has_the_same_rows_in_other_batches(self, run):
        one, two = epochs(run.records())
        self.assertEqual(len(set(digests(one) + digests(two))), 8)
        self.assertEqual(rows(one), rows(two))
        self.assertEqual(len(set(rows(one))), 32)

    @script(SHUFFLED.replace("shuffle=True", "shuffle=False"))
    def test_without_shuffling_epochs_are_equal(self, run):
        one, two = epochs(run.records())
        self.assertEqual(digests(one), digests(two))

    @script(SHUFFLED.replace("for x, y in DataLoader(data, batch_size=8, shuffle=True): pass",
                             "x, y = next(iter(DataLoader(data, batch_size=8)))"))
    def test_the_first_batch_again_and_again_is_of_ever_new_iterators(self, run):
        self.assertEqual([len(set(digests(epoch))) for epoch in epochs(run.records())], [1, 1])
        self.assertEqual(*map(digests, epochs(run.records())))

    RESUMED = LOOP + """
data = TensorDataset(torch.randn(32, 4))
def batches(): return iter(DataLoader(data, batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(3)))
loader = batches()
for step in range(2): next(loader)
torch.save({}, "resume.pt"); torch.load("resume.pt")
loader = batches()
for batch in loader: pass
"""

    @script(RESUMED.replace("for batch in loader", "for step in range(2): next(loader._sampler_iter)\nfor batch in loader"))
    def test_after_a_resume_no_batch_of_the_epoch_comes_again(self, run):
        before, after = epochs(run.records())
        self.assertEqual(len(set(digests(before) + digests(after))), 4)
        self.assertEqual(set(rows(before)) & set(rows(after)), set())

    @script(RESUMED)
    def test_a_resume_from_the_start_of_the_epoch_repeats_batches(self, run):
        before, after = epochs(run.records())
        self.assertEqual(digests(before), digests(after)[:2])
        self.assertEqual([r["fn"] for r in self.calls(run) if r["fn"] in ("torch.save", "torch.load")], ["torch.save", "torch.load"])

    IN_PLACE = LOOP + """
data = torch.randn(16, 4); net = nn.Linear(4, 1)
for epoch in range(2):
    for i in range(0, 16, 8):
        x = data[i:i + 8]
        net(x - x.mean())
"""

    def entered(self, run):
        """Digests of what the model is given: without a DataLoader the batch is met there."""
        return [r["args"]["input"]["digest"] for r in self.calls(run) if r.get("self", {}).get("role") == "root"]

    @script(IN_PLACE)
    def test_data_that_stays_is_the_same_in_the_next_epoch(self, run):
        found = self.entered(run)
        self.assertEqual((found[:2], len(set(found))), (found[2:], 2))

    @script(IN_PLACE.replace("net(x - x.mean())", "net(x.mul_(2))"))
    def test_data_changed_in_place_is_other_data_in_the_next_epoch(self, run):
        self.assertEqual(len(set(self.entered(run))), 4)

    @script(LOOP + """
for inplace in (False, True):
    net = nn.Sequential(nn.ReLU(inplace), nn.Linear(4, 4)); x = torch.randn(8, 4)
    F.mse_loss(net(x), x)
""")
    def test_a_model_that_changes_its_input_shows_at_the_loss(self, run):
        targets = [a["target"]["digest"] for a in arguments(run, "functional.mse_loss")]
        self.assertEqual([a == b for a, b in zip(self.entered(run), targets)], [True, False])

    @script(LOOP + """
table = torch.arange(64).view(8, 8); net = nn.Embedding(64, 2)
big = torch.zeros(300, 400); wide = nn.Linear(400, 1)
net(table); net(table.t()); net(table.view(4, 16)); wide(big); wide(big)
net(torch.randint(64, (2, 3), generator=torch.Generator().manual_seed(0)).to(torch.int32))
""")
    def test_digests_are_of_the_content_whatever_its_layout_and_shape(self, run):
        first, turned, viewed, big, again, small = (
            next(iter(r["args"].values())) for r in self.calls(run) if r.get("self", {}).get("role") == "root")
        self.assertEqual(first["digest"], viewed["digest"])
        self.assertNotEqual(first["digest"], turned["digest"])
        self.assertEqual(big["digest"], again["digest"])
        self.assertEqual(big["digest"][0], "~")
        self.assertEqual({len(small["digest"]), len(first["digest"])}, {16})
        self.assertEqual((len(first["rows"]), len(small["rows"])), (64, 16))
        self.assertNotIn("rows", big)


class Noise(Warm):
    DRAWS = """
import torch
from torch.distributions import Normal
for seed in 1, 1, 2:
    torch.manual_seed(seed)
    torch.randn(64, 64), torch.empty(300, 300).bernoulli_(0.5), Normal(torch.zeros(5), 1.0).sample()
torch.ones(64, 64) * 2.0
"""

    def test_what_is_drawn_has_its_digest(self):
        run = self.traced(self.DRAWS)
        fns = ("torch.randn", "torch.Tensor.bernoulli_", "torch.distributions.Normal.sample", "torch.Tensor.mul")
        of = {r["id"]: r["fn"] for r in self.calls(run)}
        found = {fn: [r["value"].get("digest") for r in run.records() if r["type"] == "return" and of.get(r["id"]) == fn] for fn in fns}
        self.assertEqual(found.pop(fns[-1]), [None])
        for fn, (one, again, two) in found.items():
            self.assertEqual(one, again, fn)
            self.assertNotIn(two, (one, None), fn)


class Operands(InTurn):
    ATTENTION = LOOP + """
net = nn.MultiheadAttention(4, 1, batch_first=True); x = torch.randn(2, 5, 4)
padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
net(x, x, x, key_padding_mask=padding)
"""

    def mask(self, run):
        return next(r["args"]["key_padding_mask"]["summary"] for r in self.calls(run) if "key_padding_mask" in r["args"])

    @script(ATTENTION)
    def test_a_padding_mask_begins_with_what_is_attended_to(self, run):
        self.assertEqual(self.mask(run), {"true": 2, "false": 8, "first": False})

    @script(ATTENTION.replace("=padding)", "=~padding)"))
    def test_a_mask_turned_round_has_another_first_column(self, run):
        self.assertEqual(self.mask(run), {"true": 8, "false": 2, "first": True})

    @script(ATTENTION + "net(x, x.clone(), x)")
    def test_operands_that_are_equal_or_share_memory_are_told(self, run):
        one, two = [r for r in self.calls(run) if r.get("self", {}).get("role") == "root"]
        pairs = [["args.query", "args.key"], ["args.query", "args.value"], ["args.key", "args.value"]]
        self.assertEqual((one["alias"], one.get("equal")), (pairs, None))
        self.assertEqual((two["alias"], two["equal"]), (pairs[1:2], [pairs[0], pairs[2]]))

    LANGUAGE = LOOP + """
torch.manual_seed(2)
net = nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 16)); text = torch.randint(1, 16, (4, 9))
x, y = text[:, :-1], text[:, 1:]
loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten())
"""

    def labels_and_input(self, run):
        target = arguments(run, "functional.cross_entropy")[0]["target"]
        return target, next(r["args"]["input"] for r in self.calls(run) if r.get("self", {}).get("role") == "root")

    @script(LANGUAGE)
    def test_labels_that_are_shifted_are_no_inputs(self, run):
        target, given = self.labels_and_input(run)
        self.assertNotEqual(target["digest"], given["digest"])
        self.assertEqual(target["summary"]["negative"], 0)

    @script(LANGUAGE.replace("text[:, 1:]", "text[:, :-1].clone()"))
    def test_labels_that_are_the_inputs_have_their_digest(self, run):
        target, given = self.labels_and_input(run)
        self.assertEqual(target["digest"], given["digest"])

    @script(LANGUAGE.replace("y.flatten())", "torch.where(y > 99, y, -100).flatten())"))
    def test_labels_that_are_masked_wholly_are_all_the_same(self, run):
        summary = self.labels_and_input(run)[0]["summary"]
        self.assertEqual((summary["min"], summary["max"], summary["distinct"], summary["negative"]), (-100, -100, 1, 32))

    @script(LANGUAGE + """
for parts in (4, 1):
    for micro in range(4): (F.cross_entropy(net(x).flatten(0, 1), y.flatten()) / parts).backward()
""")
    def test_a_loss_that_is_not_divided_is_told_by_what_backward_gets(self, run):
        losses = [value["value"] for value in returned(run, "functional.cross_entropy")][1:]
        given = [r["self"]["value"] for r in self.calls(run, fn="torch.Tensor.backward")]
        ratios = [round(a / b, 5) for a, b in zip(given, losses)]
        self.assertEqual(ratios, [0.25] * 4 + [1.0] * 4)

    POLICY = LOOP + """
net = nn.Linear(4, 2); x = torch.randn(8, 4); action = torch.arange(8) % 2
def log_prob(): return net(x).log_softmax(-1).gather(1, action[:, None])[:, 0]
old = log_prob().detach()
with torch.no_grad(): net.weight.add_(0.1 * torch.randn(2, 4))
ratio = torch.exp(log_prob() - old)
torch.clamp(ratio, 0.8, 1.2)
"""

    @script(POLICY)
    def test_a_ratio_of_policies_is_no_constant(self, run):
        self.assertNotIn("constant", returned(run, "torch.exp")[0])

    @script(POLICY.replace("ratio = ", "old = log_prob().detach(); ratio = "))
    def test_a_ratio_that_is_always_one_is_told(self, run):
        self.assertEqual(returned(run, "torch.exp")[0]["constant"], 1.0)
        self.assertEqual(arguments(run, "torch.clamp")[0]["input"]["constant"], 1.0)

    @script(LOOP + """
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import vmap
net = nn.Linear(3, 2)
with FakeTensorMode(): F.relu(torch.ones(2, 3)); F.one_hot(torch.ones(2, dtype=torch.long), 2)
F.relu(torch.ones(2, 3, device="meta"))
F.relu(torch.eye(3).to_sparse())
F.relu(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))
F.dropout(torch.quantize_per_tensor(torch.ones(2, 3), 0.1, 0, torch.quint8).dequantize())
vmap(net)(torch.ones(4, 3)); vmap(lambda i: F.one_hot(i, 3))(torch.zeros(4, dtype=torch.long))
F.relu(torch.ones(2, 3).half()); F.relu(torch.ones(2, 3, dtype=torch.complex64).real)
F.relu(torch.ones(0)); torch.empty(2, dtype=torch.long); torch.stack([torch.arange(3)] * 20)
F.one_hot(torch.tensor([0, 2 ** 30])[:1], 3); torch.cat([torch.tensor([2 ** 40, 0, -1])])
""")
    def test_tensors_without_memory_of_their_own_have_no_content(self, run):
        unwritten = [value for value in returned(run, "torch.empty") if value["dtype"] == "int64"]
        self.assertEqual({name for value in unwritten for name in MEMBERS & set(value)}, set())
        for record in (r for r in run.records() if r["type"] != "source"):
            text = json.dumps(record)
            if '"device": "meta"' in text or "FakeTensor" in text:
                self.assertFalse(any(f'"{name}"' in text for name in ("digest", "summary", "constant")), text)
        wide = arguments(run, "torch.cat")[0]["tensors"][0]["summary"]
        self.assertEqual(wide, {"min": -1, "max": 2 ** 40, "negative": 1, "zero": 1, "one": 0})
        many = next(r for r in self.calls(run, fn="torch.stack") if len(r["args"]["tensors"]) == 20)
        self.assertEqual(len(many["alias"]), 16 * 15 // 2)

    @script(LOOP + """
F.relu(torch.tensor(float("nan"))); F.relu(torch.full((3,), float("-inf"))); F.relu(torch.full((4,), 0.5, dtype=torch.bfloat16))
""")
    def test_numbers_are_told_also_where_they_are_none(self, run):
        one, two, three = (a["input"] for a in arguments(run, "functional.relu"))
        self.assertEqual((one["value"], two["constant"], three["constant"]), ({"float": "nan"}, {"float": "-inf"}, 0.5))


    @script(LOOP + """
F.relu(torch.tensor([0.06, -1234.5, 0.5])); F.relu(torch.arange(9.0)); F.relu(torch.tensor([1.0, float("nan")]))
F.linear(torch.tensor([[1.0, 2.5]]), nn.Parameter(torch.tensor([[1.0, 2.0]])), torch.tensor([3.0]))
F.relu(torch.tensor([1.0, 2.0], requires_grad=True)); F.relu(torch.tensor([0.25, 3.0], dtype=torch.float64)[None, :])
""")
    def test_of_a_small_tensor_the_elements_are_shown(self, run):
        shown = [a["input"].get("elements") for a in arguments(run, "functional.relu")]
        self.assertEqual(shown, [[0.06, -1230, 0.5], None, None, None, [0.25, 3.0]])
        linear = arguments(run, "functional.linear")[0]
        self.assertEqual((linear["input"]["elements"], "elements" in linear["weight"]), ([1.0, 2.5], False))


STREAM = LOOP + """""
class Stream(IterableDataset):
    def __init__(self, is_split): self.is_split = is_split
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        for i in range(8):
            if not self.is_split or i % worker.num_workers == worker.id: yield torch.arange(4) + 10 * i
if __name__ == "__main__":  # from Python 3.14 on workers import the script
    for is_split in (True, False):
        for batch in DataLoader(Stream(is_split), batch_size=2, num_workers=2): pass
"""

RANKS = LOOP + """
import os, torch.distributed as dist, torch.multiprocessing as mp
from torch.utils.data import DistributedSampler

def work(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    data = TensorDataset(torch.arange(64.).view(16, 4))
    for sampler in (DistributedSampler(data), None):
        for batch in DataLoader(data, batch_size=4, sampler=sampler): pass
    dist.destroy_process_group()

if __name__ == "__main__": mp.spawn(work, (os.getcwd(),), nprocs=2)
"""


class Processes(Warm):
    def test_two_workers_with_the_same_batches_are_told(self):
        run = self.traced(STREAM)
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_no_errors(run)
        main = next(records for file in run.files() for records in [run.records(file)] if records[0]["role"] == "main")
        split, whole = ([batch["digest"] for batch in epoch] for epoch in epochs(main))
        self.assertEqual((len(split), len(set(split))), (4, 4))
        self.assertEqual((len(whole), len(set(whole))), (8, 4))
        self.assertEqual(whole[0::2], whole[1::2])

    def test_ranks_with_the_same_batch_are_told(self):
        run = self.traced(RANKS, env={"WARM_SPAWNS": "1"})
        self.assertEqual(run.code, 0, run.err)
        found = [digests([r["value"] for r in run.records(file) if r["type"] == "return" and "rows" in json.dumps(r.get("value"))])
                 for file in run.files()]
        found = [batches for batches in found if batches]
        self.assertEqual([len(batches) for batches in found], [6, 6])
        self.assertEqual([a == b for a, b in zip(*found)], [False] * 2 + [True] * 4)


LEVELS = LOOP + """
net = nn.Linear(4, 2); x = torch.randn(8, 4); y = torch.arange(8) % 2
for step in range(4): F.cross_entropy(net(x), y).backward()
"""


RANGES = LOOP + """
net = nn.Linear(4, 2)
F.relu(torch.tensor([-1.23456, 0.0, 0.5, float("inf")])); F.linear(torch.eye(4), net.weight)
"""


COMPARED = LOOP + """
how = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(0)

class Product(nn.Linear):
    def forward(self, x):
        h = self.in_features // 2
        if how == "halves":
            return F.linear(x[:, :h], self.weight[:, :h]) + F.linear(x[:, h:], self.weight[:, h:]) + self.bias
        return F.linear(x, self.weight, self.bias)

net = nn.Sequential(Product(64, 128), nn.Tanh(), Product(128, 10))
weights, biases = ([p for p in net.parameters() if p.ndim == n] for n in (2, 1))
optimizer = torch.optim.Adam([{"params": weights}, {"params": biases, "weight_decay": 0.1 if how == "decay" else 0}],
                             lr=1.01e-3 if how == "rate" else 1e-3)
for step in range(5):
    x, y = torch.randn(16, 64), torch.arange(16) % 10
    optimizer.zero_grad()
    F.cross_entropy(net(x), y).backward()
    if how != "unclipped": nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    optimizer.step()
"""


class Distances(Warm):
    """traincheck-check --against: is it rounding?"""

    def test_rounding_is_told_from_small_faults(self):
        script = self.script(COMPARED)
        for how in "base", "halves", "rate", "decay", "unclipped":
            self.assertEqual(self.collect("--content", "full", script, how, folder=how).code, 0)
        base = self.work / "base"
        for how, until in ("base", None), ("halves", 4), ("rate", None), ("decay", None), ("unclipped", None):
            with self.subTest(how):
                report = self.work / f"{how}-report"
                self.execute([BIN / "traincheck-check", "-q", self.work / how, "--against", base, "-o", report], None)
                told = json.loads((report / "comparison_summary.json").read_text())
                self.assertEqual(told.get("equal_to_rounding_until"), until)
                self.assertEqual(told.get("values_part_in_step"), None if how == "base" else 0)


SKETCHED = LOOP + """
import json
torch.manual_seed(0)
x = torch.randn(70, 5)
nan = x.clone(); nan[3, 2] = float("nan")
inf = x.clone(); inf[69, 4] = float("-inf")
for given in (x, x.t(), x[::2, 1:], x.bfloat16(), x.half().t() * 1e-3, x.double(), x[0, 0], torch.zeros(3), nan, inf,
              torch.full((2,), 1e300, dtype=torch.float64)):
    F.relu(given)
    print(json.dumps(given.double().flatten().tolist() if given.isfinite().all() and given.abs().max() < 1e200 else None))
F.relu(torch.arange(5))
print("null")
net = nn.Linear(70, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
optimizer.zero_grad(); net(torch.ones(1, 70)).sum().backward()
print(json.dumps([0, net.weight.flatten().tolist()]))
optimizer.step()
print(json.dumps([2, net.weight.flatten().tolist()]))
"""


def mix(x):
    x %= 2**64
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2**64
    x = (x ^ x >> 27) * 0x94d049bb133111eb % 2**64
    return x ^ x >> 31


class Levels(Warm):
    def members(self, run):
        """All members of content of all tensors, and what the process says of it."""
        found = set()

        def visit(value):
            if isinstance(value, dict):
                if "tensor" in value:
                    found.update(MEMBERS & set(value))
                for member in value.values():
                    visit(member)
            elif isinstance(value, list):
                for member in value:
                    visit(member)

        records = run.records()
        visit(records)
        pairs = {key for r in records for key in ("equal", "alias") if key in r}
        return next(r["content"] for r in records if r["type"] == "process"), found, pairs

    def test_off_records_nothing_of_it(self):
        run = self.traced(LEVELS, options=["--content", "off"])
        self.assertEqual(self.members(run), ("off", set(), set()))

    def test_full_tells_between_what_an_operand_lies_with_three_digits_and_nothing_of_a_parameter(self):
        run = self.traced(RANGES, options=["--content", "full"])
        self.assertEqual(arguments(run, "functional.relu")[0]["input"]["range"], [-1.23, 0.5, 1, 1])
        given = arguments(run, "functional.linear")[-1]
        self.assertEqual(given["input"]["range"], [0.0, 1.0, 0, 4])
        self.assertNotIn("range", given["weight"])

    def test_of_batches_alone_no_range_is_told(self):
        self.assertNotIn("range", arguments(self.traced(RANGES), "functional.relu")[0]["input"])

    def test_full_has_digests_of_all_operands_and_results(self):
        run = self.traced(LEVELS, options=["--content", "full"])
        self.assertEqual(self.members(run)[0], "full")
        for r in self.calls(run, fn="torch.nn.functional.linear"):
            self.assertTrue(all("digest" in r["args"][name] for name in ("input", "weight", "bias")), r)
        self.assertTrue(all("digest" in value for value in returned(run, "functional.linear")))

    def test_full_has_sketches_of_floating_point_numbers_in_logical_order(self):
        run = self.traced(SKETCHED, options=["--content", "full"])
        expected = iter(json.loads(line) for line in run.out.splitlines())
        for given in (a["input"] for a in arguments(run, "functional.relu")):
            self.assert_sketch(given, next(expected))
        for values in expected:  # of the variables, in order
            told = [r["attrs"] for r in run.records() if r["type"] == "var" and "data" in r["attrs"]]
            self.assert_sketch(told[values.pop(0)], values[0])

    def assert_sketch(self, told, values):
        """As docs/trace-format.md defines it."""
        if values is None:
            self.assertNotIn("sketch", told)
            return
        words = [mix((i // 64 * 4 + k + 1) * 0x9e3779b97f4a7c15) >> i % 64 & 1 for i in range(len(values)) for k in range(4)]
        sums = [math.fsum(-x if words[4 * i + k] else x for i, x in enumerate(values)) for k in range(4)]
        norm = math.sqrt(math.fsum(x * x for x in values))
        for said, known in zip(told["sketch"], [norm, *sums], strict=True):
            self.assertAlmostEqual(said, known, delta=6e-9 * max(norm, abs(known)))

    def test_a_variable_has_a_new_sketch_where_it_has_another_content(self):
        run = self.traced(LEVELS + "o = torch.optim.SGD(net.parameters(), lr=0.1); o.step(); o.step()\n", options=["--content", "full"])
        told = [r["attrs"] for r in run.records() if r["type"] == "var"]
        self.assertEqual([("data" in attrs) for attrs in told], ["sketch" in attrs for attrs in told])
        self.assertEqual(sum("sketch" in attrs for attrs in told), 6)

    def test_without_full_there_is_no_sketch(self):
        self.assertNotIn("sketch", str(self.traced(SKETCHED).records()))

    def test_invariants_do_not_depend_on_sketches(self):
        run = self.traced(LEVELS.replace("nn.Linear(4, 2)", "nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2))")
                          + "o = torch.optim.SGD(net.parameters(), lr=0.1)\nfor i in range(3): net(x).sum().backward(); o.step()\n",
                          options=["--content", "full"])
        (file,) = run.files()
        lines, told = decode(file), []
        file.unlink()
        self.assertIn('"sketch"', lines)
        for text in lines, re.sub(r',"sketch":\[[^]]*\]', "", lines):
            file.with_suffix("").write_text(text)
            for to in ["--evidence", "e"], ["-o", "i.jsonl"], ["--specific", "-o", "s.jsonl"]:
                infer = self.execute([BIN / "traincheck-infer", "-q", *to, run.folder], None)
                self.assertEqual(infer.code, 0, infer.err)
            told.append([(self.work / name).read_bytes() for name in ("e", "i.jsonl", "s.jsonl")])
        self.assertTrue(told[0] == told[1])

    def test_a_selection_has_content_only_where_it_is_asked_for(self):
        everything = self.traced(LEVELS)
        self.assertEqual(self.members(everything)[0], "batches")
        infer = self.execute([BIN / "traincheck-infer", "-q", "-o", "i.jsonl", "--disable-relation", "APIOutput/sign", everything.folder], None)
        self.assertEqual(infer.code, 0, infer.err)
        chosen = self.collect("-i", "i.jsonl", "script.py", folder="chosen")
        self.assertEqual(self.members(chosen), ("off", set(), set()))
        asked = self.collect("-i", "i.jsonl", "--content", "batches", "script.py", folder="asked")
        self.assertEqual(self.members(asked)[0], "batches")
        self.assertIn("digest", self.members(asked)[1])

    def test_a_config_file_may_ask_for_it(self):
        config = self.script("content: off\n", "collect.yaml")
        run = self.traced(LEVELS, options=["--config", config])
        self.assertEqual(run.code, 0, run.err + run.said)
        self.assertEqual(self.members(run)[0], "off")


FACTS = LOOP + """
seed, bugs = int(sys.argv[1]), set(sys.argv[2:])
torch.manual_seed(0); data = torch.randint(1, 16, (32, 9)); data[::2, 6:] = 0
torch.manual_seed(seed)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.attend, self.out = nn.Embedding(16, 8), nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 16)
    def forward(self, x, padding):
        h = self.embed(x)
        return self.out(h + self.attend(h, h, h, key_padding_mask=padding, need_weights=False)[0])

net = Net(); optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(data), batch_size=8, shuffle="order" not in bugs)
for epoch in range(2):
    for i, (text,) in enumerate(loader):
        x, y = text[:, :-1], (text[:, :-1] if "labels" in bugs else text[:, 1:]).clone()
        logits = net(x, x != 0 if "mask" in bugs else x == 0)
        old = logits.detach() if "ratio" in bugs else torch.zeros_like(logits)
        torch.exp(logits.detach() - old)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        (loss if "loss" in bugs else loss / 2).backward()
        if i % 2: optimizer.step(); optimizer.zero_grad()
"""


class Facts(Warm):
    """What --specific makes of it: two healthy runs, then one with every mistake."""

    def infer_and_check(self, *runs):
        done = self.execute([BIN / "traincheck-infer", "-q", "--specific", "-o", "i.jsonl", "one", "two"], None)
        self.assertEqual(done.code, 0, done.err)
        return [self.execute([BIN / "traincheck-check", "-q", run, "-i", "i.jsonl", "-o", f"report-{run}"], None) for run in runs]

    def broken(self, folder):
        """The claims that failed: attribute and path."""
        path = self.work / f"report-{folder}" / "violations.jsonl"
        ids = {json.loads(line)["id"] for line in path.read_text().splitlines()}
        claims = [c for c in invariant_file.read(self.work / "i.jsonl") if "relation" in c]
        return {(p["attribute"], p.get("operand")) for c in claims if c["id"] in ids for p in c["params"] if "attribute" in p}

    def test_mistakes_in_content_break_facts_and_a_selection_tells_the_same(self):
        script = self.script(FACTS)
        bugs = ["order", "labels", "mask", "ratio", "loss"]
        for folder, *arguments in (["one", 1], ["two", 2], ["three", 3], ["four", 4, *bugs]):
            self.collect(script, *map(str, arguments), folder=folder)
        good, bad = self.infer_and_check("three", "four")
        self.assertEqual(good.code, 0, good.out)
        self.assertNotEqual(bad.code, 0)
        broken = self.broken("four")
        for claim in (("value", "args.shuffle"), ("flows_first", None), ("first", "args.padding"), ("uniform", "args.input"),
                      ("source", "self")):
            self.assertIn(claim, broken)
        self.collect("-i", "i.jsonl", script, "4", *bugs, folder="five")
        self.infer_and_check("five")
        self.assertEqual(self.broken("five"), broken)


if __name__ == "__main__":
    unittest.main()
