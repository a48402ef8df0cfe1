"""A video denoiser on two gloo ranks with one clip per rank and step, so the noise levels of a step are as many as the ranks."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

FRAMES, PIXELS, LEVELS = 6, 12, 1000


def clips(gen, count):
    """A bright dot that runs over a line of pixels."""
    start = torch.rand(count, 1, generator=gen) * 6
    speed = torch.rand(count, 1, generator=gen) * 1.2
    place = start + speed * torch.arange(FRAMES)
    return torch.exp(-(torch.arange(PIXELS) - place[..., None]) ** 2 / 2) * 2 - 0.6


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.level = nn.Sequential(nn.Linear(16, width), nn.SiLU(), nn.Linear(width, width))
        self.inp = nn.Linear(FRAMES * PIXELS, width)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, FRAMES * PIXELS))

    def forward(self, x, t):
        freq = torch.exp(torch.arange(8) * -0.9)
        angle = 20 * t[:, None] / LEVELS * freq
        h = self.inp(x.flatten(1)) + self.level(torch.cat([angle.sin(), angle.cos()], dim=1))
        return self.body(h).view_as(x)


def add_noise(x, noise, t):
    alpha = torch.cos(t / LEVELS * torch.pi / 2).view(-1, 1, 1)
    return alpha * x + (1 - alpha ** 2).sqrt() * noise


@torch.no_grad()
def test_loss(model):
    gen = torch.Generator().manual_seed(31)
    x = clips(gen, 256)
    noise = torch.randn(x.shape, generator=gen)
    t = torch.randint(0, LEVELS, (256,), generator=gen)
    return F.mse_loss(model(add_noise(x, noise, t), t), noise).item()


def train(rank, world_size, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world_size)
    torch.manual_seed(args.seed)
    model = DDP(Denoiser())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    data_gen = torch.Generator().manual_seed(args.seed + rank)
    noise_gen = torch.Generator().manual_seed(args.seed + 1000 + rank)
    timestep_gen = torch.Generator().manual_seed(args.seed + 2000 + rank)
    levels, losses = set(), []
    for step in range(args.steps):
        video = clips(data_gen, 1)
        noise = torch.randn(video.shape, generator=noise_gen)
        timestep = torch.randint(0, LEVELS, (1,), generator=timestep_gen)
        loss = F.mse_loss(model(add_noise(video, noise, timestep), timestep), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        drawn = [torch.zeros_like(timestep) for _ in range(world_size)]
        dist.all_gather(drawn, timestep)
        levels.update((step, t.item()) for t in drawn)
        losses.append(loss.item())
        if rank == 0 and step % 50 == 49:
            print(f"step {step + 1} loss {sum(losses[-50:]) / 50:.4f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE levels_per_step={len(levels) / args.steps:.2f} test={test_loss(model.module):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=250)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(2, args, os.path.join(folder, "store")), nprocs=2)
