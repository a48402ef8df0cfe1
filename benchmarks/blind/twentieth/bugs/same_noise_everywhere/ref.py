"""Flow matching for arm motions: a velocity net maps noise to joint trajectories, the demonstrations are split over two ranks."""
import argparse
import os
import random
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

HORIZON, JOINTS = 8, 2


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def demonstrations(n=512):
    g = torch.Generator().manual_seed(5)
    t = torch.linspace(0, 1, HORIZON)[None, :, None]
    goal = torch.rand(n, 1, JOINTS, generator=g) * 2 - 1
    reach = goal * (3 * t ** 2 - 2 * t ** 3)
    return (reach + 0.02 * torch.randn(n, HORIZON, JOINTS, generator=g)).flatten(1), goal.squeeze(1)


class VelocityNet(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        size = HORIZON * JOINTS
        self.net = nn.Sequential(
            nn.Linear(size + JOINTS + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, size))

    def forward(self, x, goal, t):
        return self.net(torch.cat([x, goal, t], dim=1))


def flow_loss(model, actions, goal, log):
    noise = torch.randn_like(actions)
    t = torch.distributions.Beta(1.5, 1.0).sample((len(actions), 1))
    log.append(torch.cat([noise.flatten(), t.flatten()]))
    x_t = t * noise + (1 - t) * actions
    return (model(x_t, goal, t) - (noise - actions)).pow(2).mean()


def main_process(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    set_seed(args.seed + rank)
    data = TensorDataset(*demonstrations())
    sampler = DistributedSampler(data, num_replicas=world, rank=rank, seed=args.seed)
    loader = DataLoader(data, batch_size=args.batch, sampler=sampler, drop_last=True)
    model = DDP(VelocityNet())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    step, epoch, drawn = 0, 0, []
    while step < args.steps:
        sampler.set_epoch(epoch)
        for actions, goal in loader:
            loss = flow_loss(model, actions, goal, drawn)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            if rank == 0 and step % 20 == 0:
                print(f"step {step} flow loss {loss.item():.4f}", flush=True)
        epoch += 1
    mine = torch.cat(drawn)
    both = [torch.empty_like(mine) for _ in range(world)]
    dist.all_gather(both, mine)
    same = torch.corrcoef(torch.stack(both))[0, 1].item()
    if rank == 0:
        print(f"EVIDENCE noise_correlation_of_ranks={same:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=80)
    ap.add_argument("--batch", type=int, default=32)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ["MASTER_PORT"] = str(s.getsockname()[1])
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    mp.spawn(main_process, args=(2, args), nprocs=2)
