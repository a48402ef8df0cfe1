"""Two ranks train a flow from noise to data under DistributedDataParallel; each draws times and noise for its samples."""

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
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()


class Flow(nn.Module):
    def __init__(self, features=4, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                 nn.Linear(width, features))

    def forward(self, x, time):
        return self.net(torch.cat([x, time[:, None]], dim=1))


def set_seed(seed):
    torch.manual_seed(seed)


def together(tensor):
    parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, tensor)
    return parts


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    set_seed(args.seed)
    data = TensorDataset(torch.randn(512, 4) @ torch.randn(4, 4))
    model = DistributedDataParallel(Flow())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sampler = DistributedSampler(data, seed=args.seed)
    loader = DataLoader(data, batch_size=16, sampler=sampler, drop_last=True)
    set_seed(args.seed)
    step, epoch, same = 0, 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        for (clean,) in loader:
            time, noise = torch.rand(len(clean)), torch.randn_like(clean)
            mixed = (1 - time[:, None]) * noise + time[:, None] * clean
            loss = nn.functional.mse_loss(model(mixed, time), clean - noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 20 == 0:
                first, second = together(time)
                same += int(torch.equal(first, second))
                if rank == 0:
                    print(f"step {step}: loss {loss.item():.4f}", flush=True)
            if step == args.steps:
                break
        epoch += 1
    if rank == 0:
        print(f"EVIDENCE in {same} of {args.steps // 20} looks both ranks had drawn the same times", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
