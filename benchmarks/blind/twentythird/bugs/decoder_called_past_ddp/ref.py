"""Stage one of a latent model: a decoder learns to draw images from the features of a frozen encoder, on two gloo ranks."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class FeatureAutoencoder(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, width, 4, stride=4), nn.GELU(), nn.Conv2d(width, width, 1))
        self.encoder.requires_grad_(False)
        self.decoder = nn.Sequential(nn.Conv2d(width, 48, 3, padding=1), nn.GELU(), nn.Conv2d(48, 48, 3, padding=1), nn.GELU(),
                                     nn.Conv2d(48, 16, 1), nn.PixelShuffle(4))

    def encode(self, images):
        with torch.no_grad():
            z = self.encoder(images)
        return (z - z.mean((2, 3), keepdim=True)) / (z.std((2, 3), keepdim=True) + 1e-4)

    def decode(self, z):
        return self.decoder(z)

    def forward(self, images, noise_level=0.0):
        z = self.encode(images)
        return self.decode(z + noise_level * torch.randn_like(z))


def draw(count, gen, kind):
    """Kind nought draws discs, kind one draws bars. Each rank has one of the two folders."""
    ys, xs = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    cy, cx = torch.rand(2, count, 1, 1, generator=gen) * 10 + 3
    size = torch.rand(count, 1, 1, generator=gen) * 2 + 1.5
    if kind == 0:
        picture = ((ys - cy) ** 2 + (xs - cx) ** 2 < size ** 2)
    else:
        picture = (ys - cy).abs() < size * 0.5
    return picture.float().unsqueeze(1)


@torch.no_grad()
def evaluate(model):
    model.eval()
    losses = []
    for kind in (0, 1):
        images = draw(64, torch.Generator().manual_seed(900 + kind), kind)
        losses.append(F.l1_loss(model(images), images).item())
    model.train()
    return losses


def spread(model):
    """How far the trainable weights of this rank are from the mean of the ranks."""
    flat = torch.cat([p.detach().flatten() for p in model.parameters() if p.requires_grad])
    mean = flat.clone()
    dist.all_reduce(mean)
    return (flat - mean / dist.get_world_size()).norm().item()


def train(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = FeatureAutoencoder()
    ddp = DDP(model)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=args.lr, weight_decay=0.0)
    gen = torch.Generator().manual_seed(1000 * args.seed + rank)
    torch.manual_seed(args.seed + rank)
    for step in range(args.steps):
        images = draw(16, gen, rank)
        recon = ddp(images, noise_level=args.noise)
        loss = F.l1_loss(recon, images)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 20 == 0:
            print(f"step {step} l1 {loss.item():.4f}", flush=True)
    gap, (discs, bars) = spread(model), evaluate(model)
    if rank == 0:
        print(f"EVIDENCE weight_spread={gap:.4f} discs={discs:.4f} bars={bars:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--noise", type=float, default=0.2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(2, options, os.path.join(folder, "store")), nprocs=2)
