# SPDX-License-Identifier: Apache-2.0
"""What the tests of tensors on other devices share: scripts, and how the trace of a run elsewhere is held against that of the CPU."""
import os
import pathlib

from traced import Warm

STANDIN = os.environ.get("TRAINCHECK_STANDIN", "build/tests/python/standin/libcuda.so.1")
HERE = pathlib.Path(__file__).resolve().parent
PIPELINES = HERE.parents[1] / "benchmarks" / "pipelines"

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

# What STANDIN_SCRIPT makes of the device.
STANDS_IN = """
import os, runpy
if "STANDIN" in os.environ:
    globals().update({name: value for name, value in runpy.run_path(os.environ["STANDIN_SCRIPT"]).items() if name[:2] != "__"})
if os.environ.get("LACKING"):
    exec(os.environ["LACKING"])
"""

PLAIN_MODEL = STANDS_IN + COUNT + """
import torch
from torch import nn

torch.manual_seed(2)
net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(20)])
optimizer = torch.optim.Adam(net.parameters())
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(2, 3)).sum().backward()
    optimizer.step()
print(n["looks"], n["copies"], n["read"])
if "counts" in globals():
    print(*[counts()[name] for name in ("cuLaunchKernel", "cuMemcpyDtoHAsync_v2", "cuEventSynchronize")])
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


# A rate that is written in place, a scale that changes now and then, numbers that come back to what they were.
NUMBERS = """
import torch

torch.manual_seed(3)
net = torch.nn.Linear(3, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=torch.tensor(0.5), betas=(torch.tensor(0.5), torch.tensor(0.75)))
scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
for step in range(6):
    optimizer.zero_grad()
    scaler.scale(net(torch.randn(2, 3)).sum() * (float("inf") if step == 3 else 1)).backward()
    scaler.step(optimizer)
    scaler.update()
    if step < 4:
        optimizer.param_groups[0]["lr"].mul_(1 if step % 2 else 0.5)
    elif step == 4:
        optimizer.param_groups[0]["lr"] = 0.0625
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
             torch.randn(1, dtype=torch.complex64).conj().imag, torch.randn(3, 4, dtype=torch.complex128).t(), torch.randn(2, 5, dtype=torch.complex64).conj(),
             torch.tensor(float("nan")), torch.zeros(0, 3), torch.arange(6).expand(5, 6), x.clone(), x, x[:2], torch.eye(4).to_sparse()]
    more = [torch.randint(-2**62, 2**62, (30, 40)), torch.randint(2**20 + step, (30, 200)), torch.arange(6000) % 7 - 3, torch.rand(40, 200) > 0.5,
            torch.arange(12_000, dtype=torch.int32).view(100, 120), torch.full((65_536,), -1), torch.full((700, 8), 5)[:, ::2]]
    F.embedding(more[2] + 3, net.tokens.weight)
    F.layer_norm(wide * (float("inf") if step == 1 else 1), (40,))
    F.mse_loss(wide, wide.clone())
    F.cross_entropy(torch.randn(8, 5), torch.full((8,), -100))
    optimizer.zero_grad()
    net(x, ids, mask, *batch, *more).sum().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
"""


# Fused optimizers, of which one leaves out a step by itself: they are given the scale, and what the scaler has found.
FUSED = STANDS_IN + """
import torch

for kind, options in (torch.optim.SGD, {"momentum": 0.9}), (torch.optim.Adam, {"amsgrad": True}), (torch.optim.AdamW, {}), (torch.optim.Adagrad, {}):
    torch.manual_seed(3)
    net = torch.nn.Linear(3, 3)
    rate = 0.5 if kind is torch.optim.Adagrad else torch.tensor(0.5)
    optimizer = kind(net.parameters(), lr=rate, fused=True, **options)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    for step in range(4):
        optimizer.zero_grad()
        scaler.scale(net(torch.randn(2, 3)).sum() * (float("inf") if step == 1 else 1)).backward()
        scaler.step(optimizer)
        scaler.update()
        if kind is not torch.optim.Adagrad:
            rate.mul_(0.5)
if "counts" in globals():
    print(counts()["cuEventSynchronize"])
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


# A gradient that is never cleared.
UNCLEARED = RATES.replace("optimizer.zero_grad()", "")

NUMBERS_COUNTED = STANDS_IN + COUNT + NUMBERS + """
print(n["looks"], n["copies"], n["read"])
if "counts" in globals():
    print(counts()["cuEventSynchronize"])
"""

EVERYTHING = STANDS_IN + SCRIPT + RATES + NUMBERS + UNCLEARED + CALLS + """
if "waited" in globals():
    print(len(waited), driver.standin_early() > 0)
"""

ALL_CONTENT = "--content", "full", "--digest-budget", "1MiB"


def without_sketches(value):
    if isinstance(value, list):
        return [without_sketches(one) for one in value]
    return {key: without_sketches(one) if isinstance(one, (dict, list)) else one for key, one in value.items() if key != "sketch"} \
        if isinstance(value, dict) else value


def content(records):
    """All but the first, without their times and the folder of the script, and without what the agent says of the device. Sketches are of what
    lies on the CPU alone."""
    return [{key: value for key, value in without_sketches(record).items() if key not in ("t", "events", "path")} for record in records[1:]
            if record.get("code") not in ("no-kernel", "no-memory", "waited")]


class Compared(Warm):
    """Tensors on the CPU are taken for those of another device, and leave the trace that they leave otherwise."""
    STANDS_IN = {"TRAINCHECK_TEST_ELSEWHERE": "1"}
    known = {}  # runs that know only the CPU

    def run_here(self, script, options, args):
        key = script.read_text(), options, args
        if key not in self.known:
            run = self.collect("--overwrite", *options, script, *args)
            self.assertEqual(run.code, 0, run.err)
            self.known[key] = run, [run.records(file) for file in run.files()]
        return self.known[key]

    def run_there(self, script, options=(), args=(), python=None, **env):
        there = self.collect("--overwrite", *options, script, *args, python=python, folder="elsewhere", env={**self.STANDS_IN, **env})
        self.assertEqual(there.code, 0, there.err)
        return there

    def assert_same(self, here, there):
        here, there = content(here), content(there)
        for a, b in zip(here, there):
            self.assertEqual(a, b)
        self.assertEqual(len(here), len(there))

    def compare(self, script, *options, args=(), **env):
        """The run on the CPU, and the one elsewhere."""
        here, records = self.run_here(script, options, args)
        there = self.run_there(script, options, args, **env)
        self.assert_no_errors(there)
        self.assertEqual(len(records), len(there.files()))
        for one, file in zip(records, there.files()):
            self.assert_same(one, there.records(file))
        return here, there

    def compare_text(self, text, *options, **env):
        return self.compare(self.script(text), *options, **env)

    def notes(self, run, code):
        return [r["text"] for r in run.records() if r.get("code") == code]
