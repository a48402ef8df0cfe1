"""Two processes train with accelerate: each is to see its own half of every batch of samples."""

import argparse
import os
import socket

import torch
import torch.multiprocessing as mp
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--steps", type=int, default=80)
    return parser.parse_args()


def make_data(args):
    generator = torch.Generator().manual_seed(args.seed)
    x = torch.randn(960, 12, generator=generator)
    y = (x[:, :5] + 0.6 * x[:, 5:10] * x[:, 10:11]).argmax(1)
    return x, y, torch.arange(960)


def main(rank, port, args):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port), ACCELERATE_USE_CPU="true", GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    accelerator = Accelerator(cpu=True)
    x, y, index = make_data(args)
    loader = DataLoader(TensorDataset(x[:768], y[:768], index[:768]), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    step, distinct, drawn = 0, 0, 0
    while step < args.steps:
        for inputs, labels, numbers in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            step += 1
            everyone = gather_object(numbers.tolist())
            distinct += len(set(everyone))
            drawn += len(everyone)
            if step % 20 == 0:
                accelerator.print(f"step {step}: loss {loss.item():.4f}")
            if step >= args.steps:
                break
    with torch.no_grad():
        right = (accelerator.unwrap_model(model)(x[768:]).argmax(1) == y[768:]).float().mean().item()
    accelerator.print(f"EVIDENCE {distinct / step:.2f} different samples in a step of {drawn / step:.2f}, {right:.4f} right")
    accelerator.end_training()


if __name__ == "__main__":
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    mp.start_processes(main, args=(free, parse()), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
