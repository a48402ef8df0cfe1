# SPDX-License-Identifier: Apache-2.0
"""The same of a device whose driver the agent asks itself, and of the kernel that is compiled for it: both are stand-ins here."""
import pathlib
import unittest

from elsewhere_case import ALL_CONTENT, Compared, EVERYTHING, FUSED, HERE, NUMBERS_COUNTED, PIPELINES, PLAIN_MODEL, STANDIN, STANDS_IN, content
from traced import BIN, PYTHON

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


class ByDriver(Compared):
    host_env = {"LD_LIBRARY_PATH": str(pathlib.Path(STANDIN).resolve().parent)}
    STANDS_IN = {"TRAINCHECK_TEST_ELSEWHERE": "cuda", "STANDIN": STANDIN, "STANDIN_SCRIPT": str(HERE / "standin_kernel.py"), **host_env}

    def assert_failures_cost_no_more_than_the_kernel(self, all_cases, unheard, told=None, **env):
        script = self.script(FAILING)
        here, records = self.run_here(script, (), ("none",))  # on the CPU all cases are one
        _, pid, expected = here.out.split()
        (on_cpu,) = (r for r in records if r[0]["pid"] == int(pid))
        there = self.run_there(script, (), all_cases, **env)
        found = {r[0]["pid"]: r for file in there.files() for r in [there.records(file)]}
        for case, line in zip(all_cases, there.out.splitlines(), strict=True):
            name, pid, trained = line.split()
            with self.subTest(case):
                self.assertEqual((name, trained), (case, expected))
                self.assert_same(on_cpu, found[int(pid)])
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
