"""Two gloo ranks with unlike work: rank 1 plays with weights some steps old, rank 0 learns with truncated importance weights."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.distributions import Categorical

CONTEXT, ARMS, BATCH = 6, 5, 64


def policy():
    return nn.Sequential(nn.Linear(CONTEXT, 32), nn.ReLU(), nn.Linear(32, ARMS))


def push_weights(model):
    for p in model.parameters():
        dist.broadcast(p.data, src=0)


def play(model, secret, gen):
    with torch.no_grad():
        context = torch.randn(BATCH, CONTEXT, generator=gen)
        d = Categorical(logits=model(context))
        action = d.sample()
        reward = (context @ secret).gather(1, action[:, None]).squeeze(1) + 0.1 * torch.randn(BATCH, generator=gen)
        return torch.cat([context, action[:, None].float(), d.log_prob(action)[:, None], reward[:, None]], 1)


def learn(model, optimizer, rows):
    context, action, old, reward = rows[:, :CONTEXT], rows[:, CONTEXT].long(), rows[:, -2], rows[:, -1]
    d = Categorical(logits=model(context))
    weight = (d.log_prob(action) - old).exp().detach().clamp(max=2.0)
    advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
    loss = -(weight * advantage * d.log_prob(action)).mean() - 0.01 * d.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), weight.mean().item()


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed + rank)
    secret = torch.randn(CONTEXT, ARMS, generator=torch.Generator().manual_seed(args.seed))
    model, gen = policy(), torch.Generator().manual_seed(args.seed + 10 + rank)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr) if rank == 0 else None
    rows = torch.zeros(BATCH, CONTEXT + 3)
    for step in range(args.steps):
        if step % args.lag == 0:
            push_weights(model)
        if rank == 1:
            rows = play(model, secret, gen)
            dist.send(rows, dst=0)
        else:
            dist.recv(rows, src=1)
            loss, weight = learn(model, optimizer, rows)
            if step % 40 == 39:
                print(f"step {step + 1} loss {loss:.4f} reward {rows[:, -1].mean().item():.3f} weight {weight:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=160)
    ap.add_argument("--lag", type=int, default=8)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)
