# SPDX-License-Identifier: Apache-2.0
"""How often a device ran the agent's kernel while exact.py was trained, as torch's profiler saw it. Run traced; exit status 1 if never.

Notes say where the kernel was not used; that none says so does not show that it was."""
import os
import pathlib
import runpy
import sys

from torch.profiler import ProfilerActivity, profile, supported_activities

if ProfilerActivity.CUDA not in supported_activities() or os.environ.get("BENCH_DEVICE") == "cpu":
    print("NOT DONE: torch's profiler sees no device")
    sys.exit()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
with profile(activities=[ProfilerActivity.CUDA]) as seen:
    runpy.run_path(str(pathlib.Path(__file__).with_name("exact.py")), run_name="__main__")
n = sum(event.count for event in seen.key_averages() if event.key.startswith("tc_look"))
print(f"the profiler saw {n} launches of the kernel")
sys.exit(n == 0)
