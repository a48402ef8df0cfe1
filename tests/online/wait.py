# SPDX-License-Identifier: Apache-2.0
"""Ranks that meet in each step over gloo. usage: wait.py STEPS SLEEPER STEP SECONDS [PREFIX]: in that step one sleeps before it comes.

PREFIX: two seconds later each rank writes a dump of its flight recorder to the file PREFIX and its rank, as a watchdog does.
"""
import pathlib
import sys
import threading
import time

import torch
import torch.distributed as dist

steps, sleeper, at, seconds = map(int, sys.argv[1:5])
prefix = sys.argv[5] if sys.argv[5:] else None
dist.init_process_group("gloo")
rank = dist.get_rank()


def dump():
    pathlib.Path(f"{prefix}{rank}").write_bytes(torch._C._distributed_c10d._dump_fr_trace())


w = torch.nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(steps):
    optimizer.zero_grad()
    (w * torch.rand(4)).sum().backward()
    if step == at and prefix:
        threading.Timer(2, dump).start()
    if rank == sleeper and step == at:
        time.sleep(seconds)
    dist.all_reduce(w.grad)
    optimizer.step()
dist.destroy_process_group()
