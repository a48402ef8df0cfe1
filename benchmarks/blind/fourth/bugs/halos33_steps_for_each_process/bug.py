"""Two processes of accelerate with a linear schedule over the steps that each of them makes."""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()


def linear(optimizer, warmup, total):
    def factor(step):
        return (step + 1) / warmup if step < warmup else max(0.0, (total - step) / (total - warmup))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def evaluate(accelerator, model, loader):
    model.eval()
    right = []
    with torch.no_grad():
        for x, y in loader:
            right.append(accelerator.gather_for_metrics((model(x).argmax(1) == y).float()))
    model.train()
    return torch.cat(right).mean().item()


def main(rank, store):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", OMP_NUM_THREADS="1",
                      MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")  # the group below has a file instead
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    accelerator = Accelerator(cpu=True)
    x = torch.randn(480, 12)
    y = (x @ torch.randn(12, 4) + 0.3 * torch.randn(480, 4)).argmax(1)
    train_loader = DataLoader(TensorDataset(x[:384], y[:384]), batch_size=16, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[384:], y[384:]), batch_size=16)
    model = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)
    epochs = args.steps // len(train_loader)
    scheduler = linear(optimizer, warmup=6, total=epochs * len(train_loader))
    scheduler = accelerator.prepare(scheduler)
    rates = []
    for epoch in range(epochs):
        for a, b in train_loader:
            loss = nn.functional.cross_entropy(model(a), b)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            rates.append(scheduler.get_last_lr()[0])
        score = evaluate(accelerator, model, val_loader)
        accelerator.print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {score:.3f}", flush=True)
    norm = sum(p.norm().item() for p in model.parameters())
    accelerator.print(f"EVIDENCE rate {rates[len(rates) // 2 - 1]:.6f} at half of the steps, weights {norm:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
