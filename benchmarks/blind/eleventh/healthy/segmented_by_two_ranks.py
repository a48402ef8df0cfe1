"""Segmentation on two ranks under DDP: crops and flips by chance, dice and cross entropy, metrics reduced, the better state kept by all."""
import argparse
import copy
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

SIZE, CROP = 24, 16


class Blobs(Dataset):
    """Grey pictures with discs, which are empty now and then."""

    def __init__(self, number, seed, train):
        g = torch.Generator().manual_seed(seed)
        grid = torch.stack(torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")).float()
        self.masks = torch.zeros(number, SIZE, SIZE)
        for i in range(number):
            for _ in range(int(torch.randint(0, 4, (1,), generator=g))):
                centre, radius = SIZE * torch.rand(2, 1, 1, generator=g), 2 + 3 * torch.rand(1, generator=g)
                self.masks[i][((grid - centre).pow(2).sum(0).sqrt() < radius)] = 1
        self.images = 0.8 * self.masks + 0.5 * torch.randn(number, SIZE, SIZE, generator=g)
        self.train = train

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image, mask = self.images[index], self.masks[index]
        if self.train:
            top, left = torch.randint(0, SIZE - CROP + 1, (2,)).tolist()
            image, mask = image[top:top + CROP, left:left + CROP], mask[top:top + CROP, left:left + CROP]
            if torch.rand(1) < 0.5:
                image, mask = image.flip(1), mask.flip(1)
        return image[None], mask[None]


class SmallUNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        conv = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU())
        self.down, self.middle, self.up = conv(1, width), conv(width, 2 * width), conv(3 * width, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        skip = self.down(x)
        low = self.middle(nn.functional.max_pool2d(skip, 2))
        return self.out(self.up(torch.cat([skip, nn.functional.interpolate(low, scale_factor=2.0)], 1)))


def dice_loss(logits, mask):
    p = logits.sigmoid()
    return 1 - ((2 * (p * mask).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)).mean()


def worker(rank, port, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    net = SmallUNet()
    torch.manual_seed(args.seed * 2 + rank + 1)
    model = DistributedDataParallel(net)
    train, valid = Blobs(192, args.seed, True), Blobs(48, args.seed + 1, False)
    sampler = DistributedSampler(train, seed=args.seed)
    loader = DataLoader(train, batch_size=12, sampler=sampler)
    valid_loader = DataLoader(valid, batch_size=12, sampler=DistributedSampler(valid, shuffle=False))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    best, best_state, step, epoch = 0.0, None, 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        model.train()
        for image, mask in loader:
            logits = model(image)
            loss = dice_loss(logits, mask) + nn.functional.binary_cross_entropy_with_logits(logits, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        epoch += 1
        model.eval()
        sums = torch.zeros(2)
        with torch.no_grad():
            for image, mask in valid_loader:
                guess = model.module(image) > 0
                sums += torch.stack([(guess & (mask > 0)).sum(), (guess | (mask > 0)).sum()])
        dist.all_reduce(sums)
        overlap = (sums[0] / sums[1].clamp(min=1)).item()
        if overlap > best:
            best, best_state = overlap, copy.deepcopy(model.module.state_dict())
        if rank == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}, overlap {overlap:.4f}", flush=True)
    model.module.load_state_dict(best_state)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=56)
    args = parser.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, (port, args), nprocs=2)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
