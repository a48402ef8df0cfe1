"""Two ranks fine-tune a pretrained trunk with a new head."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.head = nn.Linear(24, classes)

    def forward(self, x):
        return self.head(self.trunk(x))


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x = torch.randn(640, 12)
    y = (x @ torch.randn(12, 3)).argmax(1)
    model = Classifier(7)
    model.head = nn.Linear(24, 3)
    wrapped = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=args.lr)
    data = TensorDataset(x[:512], y[:512])
    sampler = DistributedSampler(data, seed=args.seed)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    for epoch in range(max(args.steps // len(loader), 1)):
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(wrapped(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            with torch.no_grad():
                right = (model(x[512:]).argmax(1) == y[512:]).float().mean().item()
            print(f"epoch {epoch}: loss {loss.item():.4f}, right {right:.3f}", flush=True)
    heads = [torch.empty_like(model.head.weight) for _ in range(2)]
    dist.all_gather(heads, model.head.weight.detach())
    if rank == 0:
        print(f"EVIDENCE the heads of the ranks differ by {(heads[0] - heads[1]).abs().max().item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
