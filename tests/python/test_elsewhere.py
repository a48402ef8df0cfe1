# SPDX-License-Identifier: Apache-2.0
"""Content that lies elsewhere than on the CPU: it is asked by operators of torch, leaves the same trace, and comes in one copy.

There need not be an accelerator: the agent is told to take the CPU for one. What this cannot show is a device on which an
operator is missing or means something else."""
import os
import pathlib
import unittest

from traced import Case

STANDIN = os.environ.get("TRAINCHECK_STANDIN", "build/tests/python/standin/libcuda.so.1")
HERE = pathlib.Path(__file__).resolve().parent
PIPELINES = HERE.parents[1] / "benchmarks" / "pipelines"

ELSEWHERE = {"TRAINCHECK_TEST_ELSEWHERE": "1"}

# Parameters and buffers of all kinds and of sizes around those of words, stripes, chunks and slices; gradients of all classes.
SCRIPT = """
import torch
from torch import nn

torch.manual_seed(1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(9, 7)
        for dtype in torch.bfloat16, torch.float16, torch.float64, torch.complex64:
            self.register_parameter("a_" + str(dtype)[6:], nn.Parameter(torch.randn(5, dtype=dtype)))
        self.tiny = nn.Parameter(torch.full((3,), 1e6))
        self.empty = nn.Parameter(torch.zeros(0, 4))
        self.single = nn.Parameter(torch.tensor(2.5))
        self.apart = nn.Parameter(torch.randn(6, 4).t())
        self.unused = nn.Parameter(torch.randn(2), requires_grad=False)
        self.lost = nn.Parameter(torch.randn(4))
        self.large = nn.Parameter(torch.randn(300_001))
        for size in 1, 7, 8, 63, 64, 65, 4095, 4096, 4097, 1 << 20, (1 << 20) + 1, (16 << 20) + 4099:
            self.register_buffer(f"bytes{size}", torch.randint(256, (size,), dtype=torch.uint8))
        for dtype in torch.bool, torch.int16, torch.int64, torch.float8_e4m3fn:
            self.register_buffer("a_" + str(dtype)[6:], torch.ones(11).to(dtype))
        self.register_buffer("odd", torch.randint(256, (5001,), dtype=torch.uint8)[1:])
        self.register_buffer("sparse", torch.eye(3).to_sparse())

    def forward(self, x, step):
        for name, buffer in self.named_buffers():
            if name.startswith("bytes") and buffer.numel() < 10_000 or step == 2 and name != "sparse":
                buffer.view(torch.uint8)[-1] += 1
        total = self.layer(x).sum() + (self.tiny * 1e-9).sum() + self.single + self.apart.sum() + self.large.square().mean()
        total = total + sum(getattr(self, "a_" + name).abs().float().sum() for name in ("bfloat16", "float16", "float64", "complex64"))
        return total + self.lost.sum() * (float("nan") if step == 1 else 0)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad(set_to_none=step % 2 == 0)
    net(torch.randn(2, 9), step).backward()
    optimizer.step()
    net.unused.data.add_(1)
"""

COUNT = """
import sys
from traincheck_agent import device, policy, values

n = {"looks": 0, "copies": 0, "read": 0}

def count(module, name, key):
    function = getattr(module, name)

    def counting(*args):
        n[key] += 1
        return function(*args)

    setattr(module, name, counting)

count(policy, "look", "looks")
count(device, "_to_host", "copies")
count(values, "_read", "read")
"""

PLAIN_MODEL = """
import torch
from torch import nn

torch.manual_seed(2)
net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(20)])
optimizer = torch.optim.Adam(net.parameters())
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(2, 3)).sum().backward()
    optimizer.step()
if "n" in globals():
    print(n["looks"], n["copies"], n["read"])
"""

# A rate that is a tensor, which a scheduler fills anew after every second of 4 steps.
RATES = """
import torch

torch.manual_seed(3)
net = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=torch.tensor(0.5))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
for step in range(4):
    optimizer.zero_grad()
    net(torch.randn(2, 3)).sum().backward()
    optimizer.step()
    scheduler.step()
"""


# Operands and results of all forms, dtypes and sizes of which something is asked.
CALLS = """
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm, self.tokens = nn.Linear(16, 16), nn.LayerNorm(16), nn.Embedding(50, 16)

    def forward(self, x, ids, mask, *more):
        x = F.relu(self.norm(self.layer(x)))
        x = F.dropout(x, 0.0)
        attended = F.softmax((self.tokens(ids).mean(1) + x).masked_fill(mask, float("-inf")), -1)
        F.softmax(torch.full((3, 4), float("-inf")), -1)
        return attended.nan_to_num() + F.dropout(x, 0.0, inplace=True)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
wide = torch.randn(300, 40)
for step in range(3):
    x, ids = torch.randn(4, 16), torch.randint(50, (4, 7))
    mask = torch.zeros(4, 16, dtype=torch.bool)
    mask[:, 1 + step:] = True
    batch = [torch.randn(64, 3, 40, 40), torch.randn(5, 20_000, dtype=torch.float64), torch.randn(300, 40)[:, ::2], wide[1:].bfloat16(),
             torch.randn(4, 16, dtype=torch.complex64), torch.ones(3, 5, dtype=torch.float16), torch.full((2000,), 0.5),
             torch.zeros(70_000, dtype=torch.int16), torch.randint(256, (3, 5001), dtype=torch.uint8)[:, 1:],
             torch.tensor(float("nan")), torch.zeros(0, 3), torch.arange(6).expand(5, 6), x.clone(), x, x[:2], torch.eye(4).to_sparse()]
    F.layer_norm(wide * (float("inf") if step == 1 else 1), (40,))
    F.mse_loss(wide, wide.clone())
    F.cross_entropy(torch.randn(8, 5), torch.full((8,), -100))
    optimizer.zero_grad()
    net(x, ids, mask, *batch).sum().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
"""


# With answers that come late, where the driver's stand-in is told.
LATE = """
import os, runpy
if "STANDIN" in os.environ:
    globals().update({name: value for name, value in runpy.run_path(os.environ["STANDIN_SCRIPT"]).items() if name[:2] != "__"})
"""


# The device has no such operator, the CPU has.
LACKING = """
import torch
from traincheck_agent import device

real, copying = torch._foreach_norm, device._answer_by_copies

def lacks(*_):
    raise NotImplementedError("_foreach_norm")

def answer_by_copies(questions):
    torch._foreach_norm = real
    found = copying(questions)
    torch._foreach_norm = lacks
    return found

torch._foreach_norm, device._answer_by_copies = lacks, answer_by_copies
"""

REPORT = """
if "STANDIN" in os.environ:
    print(len(waited), driver.standin_early() > 0)
"""


def content(run):
    """All records but the first, without their times."""
    records = run.records()
    for record in records:
        record.pop("t", None)
    return records[1:]


class Elsewhere(Case):
    def assert_same(self, here, there):
        self.assertEqual((here.code, there.code), (0, 0), here.err + there.err)
        self.assert_no_errors(there)
        here, there = content(here), content(there)
        for a, b in zip(here, there):
            self.assertEqual(a, b)
        self.assertEqual(len(here), len(there))

    def both(self, text, *options):
        script = self.script(text)
        return self.compare(script, *options)

    def compare(self, script, *options, args=(), env=ELSEWHERE):
        here = self.collect("--overwrite", *options, script, *args)
        return here, self.collect("--overwrite", *options, script, *args, folder="elsewhere", env=env)

    def test_it_leaves_the_same_trace(self):
        here, there = self.both(SCRIPT)
        self.assert_same(here, there)
        grads = {r["attrs"].get("grad") for r in content(there) if r["type"] == "var"}
        self.assertLessEqual({"null", "zero", "tiny", "non_zero", "nan_or_inf"}, grads)

    def test_it_leaves_the_same_trace_beyond_the_budget(self):
        here, there = self.both(SCRIPT, "--digest-budget", "1MiB")
        self.assert_same(here, there)
        self.assertTrue([r for r in content(there) if r["type"] == "var" and str(r["attrs"].get("data")).startswith("~")])

    def test_a_rate_that_is_filled_anew_is_seen(self):
        here, there = self.both(RATES)
        self.assert_same(here, there)
        rates = [r["attrs"]["lr"] for r in content(there) if r["type"] == "var" and "lr" in r["attrs"]]
        self.assertEqual(rates, [0.5, 0.25, 0.125])

    def test_all_of_a_look_comes_in_one_copy(self):
        run = self.collect(self.script(COUNT + PLAIN_MODEL), env=ELSEWHERE)
        looks, copies, read = map(int, run.out.split())
        self.assertEqual((copies, read), (looks, 0))
        # Each record of a call is a look of its own; 40 variables and as many gradients together are another.
        asking = [r for r in run.records() if r["type"] in ("call", "return")]
        self.assertLess(looks, len(asking) + 30)

    def test_it_leaves_the_same_records_of_calls(self):
        for options in (), ("--content", "full"):
            here, there = self.both(CALLS, *options)
            self.assert_same(here, there)
        said = str(content(there))
        for member in "digest", "rows", "summary", "scale", "value", "constant", "range", "equal", "same", "finite":
            self.assertIn(f"'{member}'", said)
        self.assertIn("'finite': False", said)

    def test_pipelines_leave_the_same_trace(self):
        for name, *options in ("policy_masks",), ("scaler_overflow", "--content", "full"):
            with self.subTest(name):
                here, there = self.compare(PIPELINES / f"{name}.py", *options, args=("--steps", "x0.1"))
                self.assert_same(here, there)
                self.assertTrue([r for r in content(there) if "finite" in r])

    def test_on_the_cpu_nothing_is_asked_that_way(self):
        run = self.collect(self.script(COUNT + PLAIN_MODEL))
        self.assertEqual(run.out, "0 0 0\n")

    def test_a_device_that_lacks_an_operator_is_read_by_copies(self):
        here, there = self.both(LACKING + PLAIN_MODEL)
        self.assert_same(here, there)


class Late(Case):
    assert_same, compare = Elsewhere.assert_same, Elsewhere.compare

    def run_late(self, text, *options, asks_driver=True, **env):
        env |= {**ELSEWHERE, "STANDIN": STANDIN, "STANDIN_SCRIPT": str(HERE / "standin.py")} | ({"ASKS_DRIVER": "1"} if asks_driver else {})
        return self.compare(self.script(LATE + text), *options, env=env)

    def test_it_leaves_the_same_trace_in_the_same_order(self):
        for asks_driver in False, True:
            with self.subTest(asks_driver=asks_driver):
                here, there = self.run_late(SCRIPT + CALLS, asks_driver=asks_driver)
                self.assert_same(here, there)

    def test_the_training_does_not_wait(self):
        _, there = self.run_late(PLAIN_MODEL + REPORT)
        self.assertEqual(there.out, "0 True\n")

    def test_a_device_that_is_lost_costs_answers_and_no_records(self):
        here, there = self.run_late(PLAIN_MODEL, STANDIN_FAILS_AT="40")
        self.assertEqual(there.code, 0, there.err)
        self.assert_whole(there)
        kinds = [[(r["type"], r.get("fn")) for r in content(run) if r["type"] in ("call", "return", "step")] for run in (here, there)]
        self.assertEqual(*kinds)
        self.assertIn("the device is lost", str([r.get("text") for r in there.records() if r.get("code") == "switched-off"]))

    def test_gradients_that_are_never_cleared_are_told(self):
        here, there = self.run_late(PLAIN_MODEL.replace("optimizer.zero_grad()", ""))
        self.assert_same(here, there)
        self.assertTrue([r for r in content(there) if r.get("uncleared")])


if __name__ == "__main__":
    unittest.main()
