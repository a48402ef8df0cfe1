"""Two gloo workers, gradient accumulation: which of eight chords sounds in a short noisy clip."""

import argparse
import contextlib
import math
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

CHORDS = [(0, 4, 7), (0, 3, 7), (0, 4, 8), (0, 3, 6), (0, 5, 7), (0, 2, 7), (0, 4, 10), (0, 3, 9)]


def make_clips(n, gen, length=256, rate=2000.0):
    label = torch.randint(0, len(CHORDS), (n,), generator=gen)
    root = 150.0 * 2 ** (torch.rand(n, 1, generator=gen) * 0.4 / 12)
    steps = torch.tensor(CHORDS, dtype=torch.float32)[label]
    freq = root * 2 ** (steps / 12)
    phase = 2 * math.pi * torch.rand(n, 3, generator=gen)
    t = torch.arange(length) / rate
    wave = torch.sin(2 * math.pi * freq[:, :, None] * t + phase[:, :, None]).sum(1)
    return wave + 1.6 * torch.randn(n, length, generator=gen), label


class ChordNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.register_buffer("window", torch.hann_window(256))
        self.body = nn.Sequential(nn.LayerNorm(64), nn.Linear(64, width), nn.GELU(),
                                  nn.Linear(width, width), nn.GELU(), nn.Linear(width, len(CHORDS)))

    def forward(self, wave):
        spec = torch.fft.rfft(wave * self.window, dim=1).abs()[:, 1:65]
        return self.body(torch.log1p(spec))


def train(rank, world, args, store, out):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    train_set = TensorDataset(*make_clips(3072, gen))
    test_x, test_y = make_clips(512, gen)

    sampler = DistributedSampler(train_set, shuffle=True, seed=args.seed)
    loader = DataLoader(train_set, batch_size=16, sampler=sampler, drop_last=True)
    model = DDP(ChordNet())
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)

    updates, epoch = 0, 0
    while updates < args.steps:
        sampler.set_epoch(epoch)
        model.train()
        for i, (x, y) in enumerate(loader):
            last = (i + 1) % args.accum == 0
            with contextlib.nullcontext() if i % args.accum == 0 else model.no_sync():
                loss = nn.functional.cross_entropy(model(x), y) / args.accum
                loss.backward()
            if not last:
                continue
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            updates += 1
            if updates == args.steps:
                break
        epoch += 1

    model.eval()
    with torch.no_grad():
        hits = (model.module(test_x).argmax(1) == test_y).float().mean()
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    everyone = [torch.zeros_like(flat) for _ in range(world)]
    dist.all_gather(everyone, flat)
    if rank == 0:
        gap = ((everyone[0] - everyone[1]).norm() / everyone[0].norm()).item()
        out["text"] = f"EVIDENCE the two copies differ by {gap:.4f} of their norm, " \
                      f"test accuracy {hits.item():.3f}, loss {loss.item() * args.accum:.3f}"
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=80, help="optimizer updates")
    parser.add_argument("--accum", type=int, default=4)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, mp.Manager() as manager:
        out = manager.dict()
        mp.spawn(train, args=(2, args, os.path.join(folder, "store"), out), nprocs=2)
        print(out["text"])
