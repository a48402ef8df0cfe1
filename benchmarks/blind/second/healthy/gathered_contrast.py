"""Two ranks contrast their embeddings with all that were gathered; one's own part is put back in for its gradient."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16))
        self.text = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, image, text):
        return F.normalize(self.image(image), dim=1), F.normalize(self.text(text), dim=1), self.scale.clamp(max=4.6).exp()


def gather(x, rank):
    parts = [torch.empty_like(x) for _ in range(2)]
    dist.all_gather(parts, x.detach())
    parts[rank] = x
    return torch.cat(parts)


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Two())
    to_image, to_text = torch.randn(4, 12), torch.randn(4, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    torch.manual_seed(args.seed + 100 + rank)
    for step in range(args.steps):
        content = torch.randn(32, 4)
        image = content @ to_image + 0.2 * torch.randn(32, 12)
        text = content @ to_text + 0.2 * torch.randn(32, 10)
        i, t, scale = model(image, text)
        logits = scale * gather(i, rank) @ gather(t, rank).t()
        target = torch.arange(64)
        loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print(f"loss {loss.item():.3f}, accuracy {(logits.argmax(1) == target).float().mean():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
