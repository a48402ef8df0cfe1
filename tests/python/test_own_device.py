# SPDX-License-Identifier: Apache-2.0
"""A device that is neither the CPU nor CUDA's leaves the trace that the CPU leaves: one of our own (own_device.cpp), of torch's kind
PrivateUse1, whose memory kills whoever reads it here, and whose copies come late.

It computes as the CPU does. Scripts are run with it for the default device, and with the CPU for that: a module that is moved to such a
device gets new parameters. Skipped, with status 77, where there is no g++, or where another release of torch than 2.13 has other headers."""
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from elsewhere_case import ALL_CONTENT, CALLS, NUMBERS, RATES, SCRIPT, UNCLEARED, content
from traced import Warm

import own_device

HERE = pathlib.Path(__file__).resolve().parent
EXACT = HERE.parents[1] / "benchmarks" / "collect" / "programs" / "exact.py"
MISSING = 77
KNOWN = 2, 13  # releases of torch differ in what a device has to have
LIBRARY = None  # once it is built

# The device has one stream; and nothing sparse, nor views of complex tensors as real ones, as torch's fallback has none.
SCRIPTS = (SCRIPT + RATES + NUMBERS + UNCLEARED + CALLS).replace('        self.register_buffer("sparse", torch.eye(3).to_sparse())\n', "") \
    .replace(", torch.eye(4).to_sparse()", "").replace("torch.randn(1, dtype=torch.complex64).conj().imag, ", "") \
    .replace(" torch.randn(2, 5, dtype=torch.complex64).conj(),", "").replace('GradScaler("cpu"', "GradScaler(sys.argv[1]") \
    .replace("(net.parameters(), lr=", "(net.parameters(), foreach=False, lr=").replace("self.norm(self.layer(x))", "self.layer(x)")

# How a program is run on a device, and what is printed there: looks that waited, times that somebody waited for an event or asked too early.
AROUND = """
import os, runpy, sys, warnings
warnings.simplefilter("ignore")
import torch

sys.path.insert(0, {here!r})
import own_device
own_device.load(os.environ["OWN_DEVICE"])  # in both runs, as it is in the trace, too
if sys.argv[1] == "own":
    from traincheck_agent import device
    copying, copied = device._answer_by_copies, []
    device._answer_by_copies = lambda questions: copied.append(1) or copying(questions)
torch.set_default_device(sys.argv[1])
{body}
if sys.argv[1] == "own":
    driver = torch.own.driver
    print(len(copied), driver.own_device_waits(), driver.own_device_early() > 0)
"""


def around(body):
    return AROUND.format(here=str(HERE), body=body)


RUN_EXACT = around(f'os.environ["BENCH_DEVICE"] = sys.argv[1]\nrunpy.run_path({str(EXACT)!r}, run_name="__main__")')

# The step's count and the rate stay on the device, where a graph could be captured of it: on the CPU there is no such thing.
CAPTURABLE = around("""
torch.manual_seed(3)
net = torch.nn.Linear(3, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=torch.tensor(0.5), capturable=True, foreach=False)
for step in range(4):
    optimizer.zero_grad()
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    optimizer.param_groups[0]["lr"].mul_(0.5)
""")

# Weights are moved to the CPU after a step, there to memory that the device can read, and back. Each time they are other tensors.
MOVED = around("""
torch.manual_seed(3)
net = torch.nn.Linear(300, 300)
for device in sys.argv[1], "cpu", "pinned", sys.argv[1]:
    net.to("cpu" if device == "pinned" else device)
    if device == "pinned":
        for p in net.parameters():
            p.data = p.data.pin_memory()
    torch.set_default_device("cpu" if device == "pinned" else device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    optimizer.zero_grad()
    net(torch.ones(2, 300)).sum().backward()
    optimizer.step()
""")

# Nobody finds what is read here.
READS = around('import ctypes\nctypes.string_at(torch.ones(4).data_ptr(), 4)')


class OwnDevice(Warm):
    host_env = {"OMP_NUM_THREADS": "1"}
    known = {}

    def run_on(self, device, text, options=(), **env):
        run = self.collect("--overwrite", *options, self.script(text), device, folder=device, env={"OWN_DEVICE": str(LIBRARY), **env})
        self.assertEqual(run.code, 0, run.err)
        self.assert_no_errors(run)
        return run, [json.loads(re.sub(r'"own(:0)?"', '"cpu"', json.dumps(content(run.records(file))))) for file in run.files()]

    def compare(self, text, *options, **env):
        if (text, options) not in self.known:
            self.known[text, options] = self.run_on("cpu", text, options)[1]
        there, found = self.run_on("own", text, options, **env)
        for one, other in zip(self.known[text, options], found, strict=True):
            for a, b in zip(one, other):
                self.assertEqual(a, b)
            self.assertEqual(len(one), len(other))
        self.assertEqual(there.out, "0 0 True\n")
        self.assertIn('"device":"own:0"', "".join(json.dumps(r, separators=(",", ":")) for r in there.records()))

    def test_it_leaves_the_same_trace_and_nobody_waits(self):
        self.compare(around(SCRIPTS))

    def test_it_leaves_the_same_trace_of_a_training_with_exact_numbers(self):
        for options in (), ALL_CONTENT:
            with self.subTest(options):
                self.compare(RUN_EXACT, *options)

    def test_nobody_waits_where_operators_of_long_integers_are_missing(self):
        for lacks in "aten::sort", "aten::aminmax", "aten::sort,aten::aminmax":
            with self.subTest(lacks):
                self.compare(RUN_EXACT, OWN_DEVICE_LACKS=lacks)

    def test_nobody_waits_for_an_optimizer_whose_numbers_lie_there(self):
        there, found = self.run_on("own", CAPTURABLE)
        self.assertEqual(there.out, "0 0 True\n")
        steps = {r["id"] for r in found[0] if r["type"] == "call" and r["fn"] == "torch.optim.Optimizer.step"}
        changed = [r["cause"] for r in found[0] if r["type"] == "var" and "data" in r["attrs"] and r.get("cause") in steps]
        self.assertEqual(sorted(changed), sorted([*steps, *steps]))
        self.assertEqual([r["attrs"]["lr"] for r in found[0] if "lr" in r.get("attrs", ())], [0.5, 0.25, 0.125, 0.0625, 0.03125])

    def test_what_is_moved_has_the_digest_that_it_had(self):
        there, found = self.run_on("own", MOVED)
        self.assertEqual(there.out, "0 0 True\n")
        names, digests, moved = {}, {}, []
        for r in (r for r in there.records() if r["type"] == "var" and "data" in r["attrs"]):
            name = names.setdefault(r["var"], r.get("name", "").rpartition(".")[2])
            if "device" in r["attrs"] and name in digests:
                moved.append((name, r["attrs"]["device"]))
                self.assertEqual(r["attrs"]["data"], digests[name], r)
            digests[name] = r["attrs"]["data"]
        self.assertEqual(moved, [(name, device) for device in ("cpu", "own:0") for name in ("param_groups[0][0]", "param_groups[0][1]")])

    def test_its_memory_is_not_read_here(self):
        run = self.collect(self.script(READS), "own", env={"OWN_DEVICE": str(LIBRARY)})
        self.assertEqual(run.code, -11, run.err)


def main():
    global LIBRARY
    if not shutil.which("g++"):
        print("NOT DONE: no g++ is here, so there is no device of our own: apt install g++")
        sys.exit(MISSING)
    with tempfile.TemporaryDirectory() as folder:
        LIBRARY = pathlib.Path(folder) / "own_device.so"
        wrong = own_device.build(LIBRARY)
        version = importlib.metadata.version("torch")
        if wrong and tuple(map(int, re.findall(r"\d+", version)[:2])) != KNOWN:
            print(f"NOT DONE: torch {version} has other headers than 2.13:\n{wrong[:2000]}")
            sys.exit(MISSING)
        if wrong:
            sys.exit(wrong)
        os.environ["PYTHONPATH"] = str(HERE)
        unittest.main()


if __name__ == "__main__":
    main()
