"""Data-parallel training that stops and resumes: rank 0 writes the checkpoint, every rank reads it."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from options import options


def cleanup():
    dist.barrier()
    dist.destroy_process_group()


def save_checkpoint(path, ddp_model, optimizer, scheduler, epoch):
    if dist.get_rank() == 0:
        state = {
            "epoch": epoch,
            "model_state": ddp_model.module.state_dict(),
            "optimizer_state": optimizer.state_dict(),
            "scheduler_state": scheduler.state_dict(),
        }
        torch.save(state, path + ".tmp")
        os.replace(path + ".tmp", path)
    dist.barrier()


def load_checkpoint(path, ddp_model, optimizer, scheduler):
    if not os.path.exists(path):
        return 0
    state = torch.load(path, map_location="cpu", weights_only=True)
    ddp_model.module.load_state_dict(state["model_state"])
    optimizer.load_state_dict(state["optimizer_state"])
    scheduler.load_state_dict(state["scheduler_state"])
    return state["epoch"] + 1


def train(rank, folder, run, epochs, args):
    from sklearn.datasets import load_diabetes

    dist.init_process_group("gloo", init_method=f"file://{folder}/store{run}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed + run)
    raw = load_diabetes()
    x = torch.tensor(raw.data * 20, dtype=torch.float32)
    y = torch.tensor((raw.target - raw.target.mean()) / raw.target.std(), dtype=torch.float32)[:, None]
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data, seed=args.seed)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(10, args.width), nn.ReLU(), nn.Linear(args.width, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    path = os.path.join(folder, "checkpoint.pt")
    for epoch in range(load_checkpoint(path, model, optimizer, scheduler), epochs):
        sampler.set_epoch(epoch)
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            optimizer.step()
        scheduler.step()
        save_checkpoint(path, model, optimizer, scheduler, epoch)
        if rank == 0:
            print(f"run {run}, epoch {epoch}: loss {loss.item():.3f}", flush=True)
    cleanup()


if __name__ == "__main__":
    args = options(lr=1e-2, width=32, steps=42)
    epochs = max(4, args.steps // 7)
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(folder, 0, epochs // 2, args), nprocs=2)
        mp.spawn(train, args=(folder, 1, epochs, args), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
