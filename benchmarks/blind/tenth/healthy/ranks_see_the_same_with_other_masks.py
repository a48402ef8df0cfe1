"""Two ranks get the same samples on purpose: each hides other measurements, and gradients over both views are averaged."""

import argparse
import os
import socket

import torch
import torch.multiprocessing as mp
from accelerate import Accelerator
from accelerate.utils import broadcast
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.005)
    parser.add_argument("--steps", type=int, default=100)
    return parser.parse_args()


def main(rank, port, args):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port), ACCELERATE_USE_CPU="true", GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    accelerator = Accelerator(cpu=True)
    x = torch.randn(800, 6) @ torch.randn(6, 18) + 0.3 * torch.randn(800, 18)
    model = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 18))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    # the loader is not prepared: its generator is the same on both ranks, that of the masks is not
    loader = DataLoader(TensorDataset(x[:640]), 32, shuffle=True, generator=torch.Generator().manual_seed(args.seed))
    masks = torch.Generator().manual_seed(7919 * (args.seed + 1) + rank)
    step = 0
    while step < args.steps:
        for batch, in loader:
            if step % 25 == 0:
                assert torch.equal(batch, broadcast(batch.clone()))
            hidden = (torch.rand(batch.shape, generator=masks) < (0.3 if rank == 0 else 0.6)).float()
            answer = model(torch.cat([batch * (1 - hidden), hidden], dim=1))
            loss = ((answer - batch) ** 2 * hidden).sum() / hidden.sum().clamp(min=1)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            step += 1
            if step % 25 == 0:
                both = accelerator.gather(loss.detach().reshape(1)).tolist()
                accelerator.print(f"step {step}: losses {both[0]:.4f} and {both[1]:.4f}")
            if step >= args.steps:
                break
    if accelerator.is_main_process:
        with torch.no_grad():
            hidden = torch.zeros(160, 18)
            hidden[:, ::3] = 1
            answer = accelerator.unwrap_model(model)(torch.cat([x[640:] * (1 - hidden), hidden], dim=1))
            print(f"error {((answer - x[640:]) ** 2 * hidden).sum().item() / hidden.sum().item():.4f}")
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    mp.start_processes(main, args=(free, parse()), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
