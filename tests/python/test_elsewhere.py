# SPDX-License-Identifier: Apache-2.0
"""Content that lies elsewhere than on the CPU: it is asked by operators of torch or by a kernel, leaves the same trace, and comes in one copy.

There need not be an accelerator: the agent is told to take the CPU for one. What this cannot show is a device on which an
operator is missing or means something else."""
import json
import os
import pathlib
import unittest

from traced import BIN, PYTHON, Warm

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

# One child for each call of the driver and of the compiler that is to fail from then on: to import torch takes longer than all else.
FAILING = STANDS_IN + """
import atexit, sys
import torch
import torch._dynamo  # an optimizer would import it, in each child
from torch import nn

def train():
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(8, 3000), nn.ReLU(), nn.Linear(3000, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.randn(2, 8)).sum().backward()
        optimizer.step()
    return float(sum(p.double().sum() for p in net.parameters()))

for case in sys.argv[1:]:
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.environ["STANDIN_FAILS"] = case
        print(case, os.getpid(), train(), flush=True)
        atexit._run_exitfuncs()
        os._exit(0)  # to take torch down takes longer, too
    os.waitpid(child, 0)
"""



def cases(once, often, unheard):
    """What is called but once, and what is called again and again: that fails from the first or from the fifth call on. What the last ones
    say is of no account."""
    return [f"{name}:1" for name in (once + " " + unheard).split()] + [f"{name}:{n}" for name in often.split() for n in (1, 5)]


UNHEARD = "nvrtcDestroyProgram cuEventSynchronize cuGetErrorName cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2"
CASES = cases("nvrtcCreateProgram nvrtcCompileProgram nvrtcGetCUBINSize nvrtcGetCUBIN cuInit cuDeviceGet cuDeviceGetAttribute"
              " cuDevicePrimaryCtxRetain cuModuleLoadData cuModuleGetFunction",
              "cuCtxPushCurrent_v2 cuMemAlloc_v2 cuMemHostAlloc cuMemHostGetDevicePointer_v2 cuEventCreate cuStreamIsCapturing cuMemsetD8Async"
              " cuLaunchKernel cuMemcpyDtoHAsync_v2 cuEventRecord cuEventQuery", UNHEARD)
# Where the compiler does not know the device: what it said of that is told.
CASES_OF_PTX = cases("nvrtcGetNumSupportedArchs nvrtcGetSupportedArchs nvrtcGetPTXSize nvrtcGetPTX", "", "")
UNHEARD_OF_HIP = "hiprtcDestroyProgram hipEventSynchronize hipGetErrorName hipThreadExchangeStreamCaptureMode"
CASES_OF_HIP = cases("hiprtcCreateProgram hiprtcCompileProgram hiprtcGetCodeSize hiprtcGetCode hipInit hipModuleLoadData hipModuleGetFunction",
                     "hipGetDevice hipSetDevice hipMalloc hipHostMalloc hipHostGetDevicePointer hipEventCreateWithFlags hipStreamIsCapturing"
                     " hipMemsetD8Async hipModuleLaunchKernel hipMemcpyDtoHAsync hipEventRecord hipEventQuery", UNHEARD_OF_HIP)

ALL_CONTENT = "--content", "full", "--digest-budget", "1MiB"

RUN_SCRIPT = """
import sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

CAPTURED = STANDS_IN + """
import torch

torch.manual_seed(2)
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    if "STANDIN" in os.environ:
        driver.standin_capture(STREAM, step == 2)
        before = counts()["cuLaunchKernel"]
    optimizer.zero_grad()
    net(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    if "STANDIN" in os.environ:
        print(step == 2, counts()["cuLaunchKernel"] > before)
"""

# A training that is captured and then replayed, as by torch.cuda.CUDAGraph: what is called meanwhile is not done, and what is done later no
# counter of a tensor notices. On the CPU memory is set back, and written past torch.
GRAPHED = STANDS_IN + """
import sys
import torch

net = None

def capturing(is_on):
    if "STANDIN" in os.environ:
        driver.standin_capture(STREAM, is_on)

class OfNoDevice:
    def capture_begin(self, pool=None, capture_error_mode="global"):
        self.kept = [p.detach().clone() for p in net.parameters()]
        capturing(True)

    def capture_end(self):
        capturing(False)
        for p, kept in zip(net.parameters(), self.kept):
            p.detach().numpy()[...] = kept.numpy()

    def replay(self):
        for p in net.parameters():
            p.grad.numpy()[...] = 1
            p.detach().numpy()[...] -= 0.125

for name in "capture_begin", "capture_end", "replay":
    setattr(torch._C._CUDAGraph, name, vars(OfNoDevice)[name])

class Graph(torch.cuda.CUDAGraph):
    def __new__(cls):
        return object.__new__(cls)

    def __init__(self):
        self._tracker = None

def train():
    optimizer.zero_grad(set_to_none=False)
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()

torch.manual_seed(2)
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.25)
graph = Graph()
for _ in range(3):
    train()
graph.capture_begin()
train()
graph.capture_end()
for _ in range(3):
    optimizer.zero_grad(set_to_none=False)
    graph.replay()
for _ in range(3):
    train()
"""

# The interpreter is held, as by an operator that hangs, while the answers come: they are on disk soon.
KILLED = STANDS_IN + """
import ctypes, sys, time
import torch

torch.manual_seed(2)
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def train(n):
    for _ in range(n):
        optimizer.zero_grad()
        net(torch.randn(2, 4)).sum().backward()
        optimizer.step()

train(3)
if "stalls" in sys.argv and "driver" in globals():
    driver.standin_stall()
train(2)
ctypes.PyDLL(None).usleep(4_000_000)
if "driver" in globals():
    os.kill(os.getpid(), 9)
"""

# How long another thread has not run.
BESIDE = STANDS_IN + """
import sys, threading, time
import torch

gaps, is_over = [], False
sys.setswitchinterval(0.0005)

def beside():
    last = time.perf_counter()
    while not is_over:
        time.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now

torch.manual_seed(2)
net = torch.nn.Linear(4, 4)
thread = threading.Thread(target=beside)
thread.start()
for _ in range(4):
    net(torch.randn(2, 4))
is_over = True
thread.join()
if "counts" in globals():
    print(sum(gap > 0.15 for gap in gaps), counts()["cuLaunchKernel"])
"""

# More looks than the queue has room for, of a device that does nothing until somebody waits for it.
HELD = STANDS_IN + """
import torch
import torch.nn.functional as F

x = torch.ones(8)
F.relu(x)
if "driver" in globals():
    driver.standin_hold()
for _ in range(17_000):
    F.relu(x)
if "counts" in globals():
    print(counts()["cuEventSynchronize"] > 0)
"""

# What is done on a stream of the script's own comes late there. The script itself makes the other stream wait only when it uses the weights.
STREAMS = STANDS_IN + """
import torch

there = "STANDIN" in os.environ

if there:
    main, side = two_streams()

torch.manual_seed(2)
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    if there:
        torch.cuda.set_stream(side)
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    with torch.no_grad():
        net.bias.mul_(2)
    if there:
        before = counts()["cuLaunchKernel"]
        torch.cuda.set_stream(main)
        print(counts()["cuLaunchKernel"] - before, main.n_waits)
        side.write_late(net.weight)
    optimizer.zero_grad()
    if there:
        main.wait_event(side)
"""

TOLD = STANDS_IN + """
import torch
import torch.nn.functional as F

torch.manual_seed(2)
x = torch.randn(70_000)
y = F.dropout(x, 0.0)
if "told" in globals():
    print(x.data_ptr() in told, y.data_ptr() in told)
"""

# Each of its threads works on a device that it has never used.
THREADS = STANDS_IN + """
import threading
import torch

def train():
    torch.manual_seed(2)
    net = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.randn(2, 4)).sum().backward()
        optimizer.step()

for _ in range(3):
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
"""

OF_THE_THREAD = """
if "driver" in globals():
    import ctypes
    number = ctypes.c_int()
    driver.hipGetDevice(ctypes.byref(number))
    print(number.value, driver.hipPeekAtLastError(), driver.standin_early() > 0)
"""

# A torch of HIP whose library is not there.
UNLOADED = """
import sys
from traincheck_agent import device, policy

def driver_paths():
    sys.modules["torch"].version.hip = "7.0.1"
    try:
        return device.driver_paths()
    finally:
        sys.modules["torch"].version.hip = None

policy.driver_paths = driver_paths
"""

# What would be said to the allocator of a device: the stream that the driver knows, and how many tensors.
RECORDED = """
import sys, types
import torch
from traincheck_agent import device

class Told:
    n = 0

    def record_stream(self, stream):
        Told.n += 1

torch.cuda.current_stream = lambda index: types.SimpleNamespace(cuda_stream=16)
print(device.stream_of(0, [Told(), Told()]), Told.n)
sys.modules["torch._inductor.cudagraph_trees"] = types.ModuleType("cudagraph_trees")
print(device.stream_of(0, [Told(), Told()]), Told.n)
del sys.modules["torch._inductor.cudagraph_trees"]
"""


def content(records):
    """All but the first, without their times and the folder of the script, and without what the agent says of the device. Sketches are of what
    lies on the CPU alone."""
    records = json.loads(json.dumps(records), object_hook=lambda o: {key: value for key, value in o.items() if key != "sketch"})
    return [{key: value for key, value in record.items() if key not in ("t", "events", "path")} for record in records[1:]
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


class Elsewhere(Compared):
    """Any other device, which operators of torch ask."""

    def test_it_leaves_the_same_trace(self):
        _, there = self.compare_text(EVERYTHING)
        records = there.records()
        grads = {r["attrs"].get("grad") for r in records if r["type"] == "var"}
        self.assertLessEqual({"null", "zero", "tiny", "non_zero", "nan_or_inf"}, grads)
        self.assertLessEqual({0.5, 0.25, 0.125}, {r["attrs"].get("lr") for r in records if r["type"] == "var"})
        for member in "digest", "rows", "summary", "scale", "value", "constant", "equal", "same", "finite":
            self.assertIn(f"'{member}'", str(records))
        self.assertIn("'finite': False", str(records))

    def test_it_leaves_the_same_trace_of_all_content_beyond_the_budget(self):
        _, there = self.compare_text(EVERYTHING, *ALL_CONTENT)
        self.assertTrue([r for r in there.records() if r["type"] == "var" and str(r["attrs"].get("data")).startswith("~")])
        self.assertIn("'range'", str(there.records()))

    def test_all_of_a_look_comes_in_one_copy(self):
        here, there = self.compare_text(PLAIN_MODEL)
        self.assertEqual(here.out, "0 0 0\n")
        looks, copies, read = map(int, there.out.split())
        self.assertEqual((copies, read), (looks, 0))
        # Each record of a call is a look of its own; 40 variables and as many gradients together are another.
        asking = [r for r in there.records() if r["type"] in ("call", "return")]
        self.assertLess(looks, len(asking) + 30)

    def test_numbers_that_are_tensors_come_with_a_look(self):
        here, there = self.compare_text(NUMBERS_COUNTED)
        self.assertEqual(here.out, "0 0 0\n")
        looks, copies, read = map(int, there.out.split())
        self.assertEqual((copies, read), (looks, 0))
        found = [r["attrs"] for r in there.records() if r["type"] == "var"]
        self.assertEqual([a["lr"] for a in found if "lr" in a], [0.5, 0.25, 0.125, 0.0625])
        self.assertEqual([a["scale"] for a in found if "scale" in a], [4.0, 8.0, 4.0, 8.0])
        calls = {r["id"]: r["fn"].rpartition(".")[2] for r in there.records() if r["type"] == "call"}
        found_inf = [(calls[r["id"]], r["found_inf"]) for r in there.records() if "found_inf" in r]
        self.assertEqual(found_inf, [(name, step == 3) for step in range(6) for name in ("unscale_", "step")])

    def test_a_device_that_lacks_an_operator_is_read_by_copies(self):
        self.compare_text(PLAIN_MODEL, LACKING=LACKING)


class Late(Compared):
    """Its answers come late."""
    STANDS_IN = {"TRAINCHECK_TEST_ELSEWHERE": "1", "STANDIN": STANDIN, "STANDIN_SCRIPT": str(HERE / "standin.py")}
    DRIVER = {"ASKS_DRIVER": "1"}

    def test_it_leaves_the_same_trace_in_the_same_order_and_training_does_not_wait(self):
        _, there = self.compare_text(EVERYTHING, **self.DRIVER)
        self.assertTrue([r for r in there.records() if r.get("uncleared")])
        self.assertEqual(there.out, "0 True\n")

    def test_numbers_that_are_tensors_come_late(self):
        _, there = self.compare_text(NUMBERS_COUNTED.replace("print(n", "print(len(waited) if 'waited' in globals() else 0, n[\"read\"]) or (n"),
                                     **self.DRIVER)
        self.assertEqual(there.out, "0 0\n")

    def test_a_device_that_is_lost_costs_answers_and_no_records(self):
        script = self.script(PLAIN_MODEL)
        (here,), there = self.run_here(script, (), ())[1], self.run_there(script, STANDIN_FAILS_AT="40", **self.DRIVER)
        self.assert_whole(there)
        kinds = [[(r["type"], r.get("fn")) for r in content(records) if r["type"] in ("call", "return", "step")]
                 for records in (here, there.records())]
        self.assertEqual(*kinds)
        self.assertIn("the device is lost", str(self.notes(there, "switched-off")))


class ByDriver(Compared):
    host_env = {"LD_LIBRARY_PATH": str(pathlib.Path(STANDIN).resolve().parent)}
    STANDS_IN = {"TRAINCHECK_TEST_ELSEWHERE": "cuda", "STANDIN": STANDIN, "STANDIN_SCRIPT": str(HERE / "standin_kernel.py"), **host_env}

    def assert_failures_cost_no_more_than_the_kernel(self, all_cases, unheard, told=None, **env):
        script = self.script(FAILING)
        here, records = self.run_here(script, (), tuple(all_cases))
        there = self.run_there(script, (), all_cases, **env)
        expected = {r[0]["pid"]: r for r in records}
        found = {r[0]["pid"]: r for file in there.files() for r in [there.records(file)]}
        for one, other in zip(here.out.splitlines(), there.out.splitlines(), strict=True):
            case, pid, trained = other.split()
            with self.subTest(case):
                self.assertEqual((case, trained), (one.split()[0], one.split()[2]))
                self.assert_same(expected[int(one.split()[1])], found[int(pid)])
                name = case.split(":")[0]
                notes = [r["text"] for r in found[int(pid)] if r.get("code") in ("no-kernel", "switched-off")]
                self.assertEqual([(told or name.removesuffix("_v2")) in text for text in notes], [] if name in unheard else [True])


class Kernel(ByDriver):
    """A device of CUDA: its driver, and the compiler of its kernel, are stand-ins."""

    def test_it_leaves_the_same_trace_in_the_same_order(self):
        _, there = self.compare_text(EVERYTHING)
        self.assertEqual(self.notes(there, "no-kernel"), [])

    def test_it_leaves_the_same_trace_of_all_content_beyond_the_budget(self):
        self.compare_text(EVERYTHING, *ALL_CONTENT)

    def test_a_look_is_one_launch_and_one_copy_and_nobody_waits(self):
        _, there = self.compare_text(PLAIN_MODEL)
        asked_of_torch, said = there.out.splitlines()
        launches, copies, waits = map(int, said.split())
        self.assertEqual((asked_of_torch, copies, waits), ("0 0 0", launches, 0))
        self.assertGreater(launches, 100)

    def test_nobody_waits_for_numbers_that_are_tensors(self):
        _, there = self.compare_text(NUMBERS_COUNTED)
        self.assertEqual(there.out, "0 0 0\n0\n")

    def test_fused_optimizers_are_asked_as_all_others(self):
        _, there = self.compare_text(FUSED)
        self.assertEqual(there.out, "0\n")
        self.assertEqual(sorted({r["attrs"]["lr"] for r in there.records() if "lr" in r.get("attrs", ())}), [0.0625, 0.125, 0.25, 0.5])

    def test_pipelines_leave_the_same_trace(self):
        script = self.script(STANDS_IN + RUN_SCRIPT)
        for name, *options in ("policy_masks",), ("scaler_overflow", "--content", "full"):
            with self.subTest(name):
                _, there = self.compare(script, *options, args=(PIPELINES / f"{name}.py", "--steps", "x0.1"))
                self.assertTrue([r for r in there.records() if "finite" in r])

    def test_whatever_fails_training_goes_on_and_the_trace_is_whole(self):
        self.assert_failures_cost_no_more_than_the_kernel(CASES, UNHEARD.split())

    def test_whatever_fails_beyond_machine_code_what_failed_first_is_told(self):
        self.assert_failures_cost_no_more_than_the_kernel(CASES_OF_PTX, (), "nvrtcCompileProgram", STANDIN_OLD="1")

    def test_a_launch_that_waits_lets_other_threads_run(self):
        there = self.run_there(self.script(BESIDE), STANDIN_BLOCKS="200000")
        gaps, launches = map(int, there.out.split())
        self.assertGreater(launches, 10)
        self.assertLess(gaps, launches / 3)
        self.assertEqual(self.notes(there, "no-kernel"), [])

    def test_the_allocator_hears_of_all_that_is_read(self):
        """Of the operand that a result is compared with, too."""
        _, there = self.compare_text(TOLD)
        self.assertEqual(there.out, "True True\n")

    def test_graphs_of_torch_compile_hear_of_nothing(self):
        _, there = self.compare_text(RECORDED)
        self.assertEqual(there.out, "16 2\n16 2\n")

    def test_while_memory_of_the_device_is_full_torch_is_asked(self):
        here, there = self.compare_text(PLAIN_MODEL, STANDIN_FULL="3:2")
        self.assertEqual(here.out, "0 0 0\n")
        looks, launches = int(there.out.split()[0]), int(there.out.split()[3])
        self.assertGreater(looks, 0)
        self.assertGreater(launches, 20)
        self.assertEqual([self.notes(there, "no-kernel"), len(self.notes(there, "no-memory"))], [[], 1])

    def test_a_killed_job_loses_what_it_had_not_yet_read(self):
        script = self.script(KILLED)
        for args in (), ("stalls",):
            with self.subTest(args):
                (here,) = self.run_here(script, (), args)[1]
                there = self.collect("--overwrite", script, *args, folder="elsewhere", env=self.STANDS_IN)
                self.assertEqual(there.code, -9)
                found = content(there.records())
                self.assertEqual(found, content(here)[:len(found)])
                returned = {r["id"] for r in found if r["type"] == "return"}
                steps = [r["id"] for r in found if r["type"] == "call" and r["fn"].endswith("Optimizer.step")]
                self.assertEqual([step in returned for step in steps], [True] * (3 if args else 5), sorted({r.get("fn") or "" for r in found}))

    def test_nothing_is_launched_into_a_capture(self):
        there = self.run_there(self.script(CAPTURED))
        self.assertEqual(there.out, "False True\nFalse True\nTrue False\nFalse True\n")
        self.assertEqual(self.notes(there, "no-kernel"), [])

    def test_a_graph_is_looked_at_when_it_is_replayed_and_not_while_it_is_captured(self):
        _, there = self.compare_text(GRAPHED)
        records = there.records()
        calls = {r["id"]: r["fn"].rpartition(".")[2] for r in records if r["type"] == "call"}
        self.assertEqual(list(calls.values()).count("step"), 6)
        changed = [(calls[r["cause"]], *sorted(r["attrs"].keys() & {"data", "grad"})) for r in records if r["type"] == "var" and "cause" in r]
        self.assertEqual([c for c in changed if c[0] == "replay"], [("replay", "data", "grad")] * 6)
        self.assertEqual(len([c for c in changed if c[0] == "step"]), 12)
        checked = self.execute([BIN / "traincheck-check", there.folder, "-i", "@all", "-o", "report"], None)
        self.assertEqual(checked.code, 0, checked.out + checked.err)

    def test_a_queue_that_is_full_waits_and_says_so(self):
        _, there = self.compare_text(HELD, python=PYTHON, STANDIN_PROMPT="1")  # a process ends once
        self.assertEqual(there.out, "True\n")
        self.assertEqual([r["count"] > 0 for r in there.records() if r.get("code") == "waited"], [True])

    def test_what_a_script_writes_on_a_stream_is_read_there_or_behind_it(self):
        _, there = self.compare_text(STREAMS)
        self.assertEqual(there.out, "1 0\n1 2\n1 4\n")

    def test_without_a_driver_torch_is_asked(self):
        (self.work / "libcuda.so.1").write_text("")
        _, there = self.compare_text(PLAIN_MODEL, LD_LIBRARY_PATH=str(self.work), STANDIN_SCRIPT=str(HERE / "traced.py"))
        self.assertEqual(self.notes(there, "no-kernel"), ["cuda:0 is asked by operators of torch: libcuda.so.1 was not found"])

    def test_two_devices_have_a_context_and_a_kernel_each(self):
        _, there = self.compare_text(EVERYTHING, TRAINCHECK_TEST_ELSEWHERE="cuda:2")
        self.assertEqual(self.notes(there, "no-kernel"), [])

    def test_a_compiler_or_a_driver_that_cannot_have_machine_code_has_what_the_driver_translates(self):
        for env in {"STANDIN_OLD": "1"}, {"STANDIN_PTX": "1"}:
            with self.subTest(env):
                _, there = self.compare_text(PLAIN_MODEL, **env)
                self.assertEqual(there.out.splitlines()[0], "0 0 0")
                self.assertEqual(self.notes(there, "no-kernel"), [])


class Threads(ByDriver):
    def test_threads_are_given_the_device(self):
        for env in {}, {"STANDIN_HIP": "1"}:
            with self.subTest(env):
                _, there = self.compare_text(THREADS, **env)
                self.assertEqual(self.notes(there, "no-kernel"), [])


class Hip(ByDriver):
    """A device of HIP: the same by other names, a thread's current device in place of contexts, and errors that stay."""
    STANDS_IN = ByDriver.STANDS_IN | {"STANDIN_HIP": "1"}

    def test_it_leaves_the_same_trace_in_the_same_order(self):
        """The user's own device, and his last error, stay what they are."""
        _, there = self.compare_text(EVERYTHING + OF_THE_THREAD)
        self.assertEqual(self.notes(there, "no-kernel"), [])
        self.assertEqual(there.out.splitlines()[-1], "7 0 True")

    def test_two_devices_have_a_kernel_each(self):
        _, there = self.compare_text(EVERYTHING, TRAINCHECK_TEST_ELSEWHERE="cuda:2")
        self.assertEqual(self.notes(there, "no-kernel"), [])

    def test_whatever_fails_training_goes_on_and_the_trace_is_whole(self):
        self.assert_failures_cost_no_more_than_the_kernel(CASES_OF_HIP, UNHEARD_OF_HIP.split())

    def test_while_memory_of_the_device_is_full_torch_is_asked(self):
        _, there = self.compare_text(PLAIN_MODEL, STANDIN_FULL="3:2")
        self.assertEqual([self.notes(there, "no-kernel"), len(self.notes(there, "no-memory"))], [[], 1])

    def test_what_a_capture_forbids_is_done_later(self):
        script = self.script(CAPTURED)
        by_cuda = self.run_there(script, STANDIN_HIP="").records()
        there = self.run_there(script)
        self.assertEqual(there.out, "False True\nFalse True\nTrue False\nFalse True\n")
        self.assert_same(by_cuda, there.records())
        self.assertEqual([note for code in ("no-kernel", "switched-off", "no-memory") for note in self.notes(there, code)], [])

    def test_without_its_library_torch_is_asked(self):
        """Another copy than torch's would not know torch's streams."""
        _, there = self.compare_text(PLAIN_MODEL, STANDIN_SCRIPT=str(self.script(UNLOADED, "unloaded.py")))
        self.assertEqual(self.notes(there, "no-kernel"), ["cuda:0 is asked by operators of torch: libamdhip64 was not found"])


if __name__ == "__main__":
    unittest.main()
