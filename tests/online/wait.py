# SPDX-License-Identifier: Apache-2.0
"""Ranks that meet in each step over gloo. usage: wait.py STEPS SLEEPER STEP SECONDS: in that step one sleeps before it comes."""
import sys
import time

import torch
import torch.distributed as dist

steps, sleeper, at, seconds = map(int, sys.argv[1:])
dist.init_process_group("gloo")
rank = dist.get_rank()
w = torch.nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(steps):
    optimizer.zero_grad()
    (w * torch.rand(4)).sum().backward()
    if rank == sleeper and step == at:
        time.sleep(seconds)
    dist.all_reduce(w.grad)
    optimizer.step()
dist.destroy_process_group()
