"""Training with accelerate on two CPU processes: warm-up, then a cosine down to nought over the steps of the run."""
import argparse
import math
import os
import socket

import torch
import torch.multiprocessing as mp
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(rows=4096, seed=0):
    gen = torch.Generator().manual_seed(40 + seed)
    x = torch.randn(rows, 10, generator=gen)
    teacher = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 4))
    with torch.no_grad():
        for k, p in enumerate(teacher.parameters()):
            p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(k)))
        y = (teacher(x) + 0.3 * torch.randn(rows, 4, generator=gen)).argmax(1)
    return TensorDataset(x, y)


def warmup_cosine(optimizer, num_warmup_steps, num_training_steps):
    def factor(step):
        if step < num_warmup_steps:
            return (step + 1) / num_warmup_steps
        done = (step - num_warmup_steps) / max(1, num_training_steps - num_warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def run(rank, world, port, args):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    from accelerate import Accelerator
    from accelerate.utils import set_seed
    accelerator = Accelerator(cpu=True)
    set_seed(args.seed)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)
    scheduler = warmup_cosine(
        optimizer,
        num_warmup_steps=args.warmup * accelerator.num_processes,
        num_training_steps=args.steps * accelerator.num_processes,
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    rates, step = [], 0
    while step < args.steps:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            rates.append(optimizer.param_groups[0]["lr"])
            scheduler.step()
            step += 1
            if step % 25 == 0:
                accelerator.print(f"step {step} loss {loss.item():.4f} lr {rates[-1]:.5f}")
            if step == args.steps:
                break
    model.eval()
    x, y = make_data(1024, seed=7).tensors
    with torch.no_grad():
        held_out = nn.functional.cross_entropy(model(x), y).item()
    accelerator.print(f"EVIDENCE mid_lr={rates[len(rates) // 2]:.6f} last_lr={rates[-1]:.6f} "
                      f"idle_steps={sum(r < 1e-9 for r in rates)} held_out={held_out:.4f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--warmup", type=int, default=10)
    args = p.parse_args()
    mp.spawn(run, args=(2, free_port(), args), nprocs=2)
