# SPDX-License-Identifier: Apache-2.0
"""Two ranks train one model over gloo. usage: ddp.py STEPS DRIFT FILE: from step DRIFT on rank 1 adds something of its own."""
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

steps, drift, stamp = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
ddp = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
generator = torch.Generator().manual_seed(rank)
for step in range(steps):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(ddp(torch.randn(4, 8, generator=generator)),
                                       torch.randint(2, (4,), generator=generator))
    loss.backward()
    optimizer.step()
    if rank == 1 and step >= drift:
        with torch.no_grad():
            model[2].bias += 1e-3
        if step == drift:
            with open(stamp, "w") as file:
                file.write(str(time.time()))
    time.sleep(0.25)
dist.destroy_process_group()
