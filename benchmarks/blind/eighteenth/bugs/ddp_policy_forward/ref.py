"""Group-relative policy gradient on two data-parallel ranks (gloo): learn to emit the sorted prompt."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

WORLD = 2
VOCAB = 6
LENGTH = 4
GROUP = 8
PROMPTS = 12


class Policy(nn.Module):
    """Emits LENGTH tokens, each from the whole prompt and the tokens said so far."""

    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB + 1, dim)
        self.net = nn.Sequential(nn.Linear(2 * LENGTH * dim, 96), nn.Tanh(), nn.Linear(96, VOCAB))

    def forward(self, prompts, completions):
        blank = torch.full_like(completions, VOCAB)
        logits = []
        for t in range(LENGTH):
            seen = torch.cat([prompts, completions[:, :t], blank[:, t:]], 1)
            logits.append(self.net(self.emb(seen).flatten(1)))
        return torch.stack(logits, 1)


@torch.no_grad()
def rollout(policy, prompts, gen):
    done = torch.full_like(prompts, VOCAB)
    for t in range(LENGTH):
        probs = policy(prompts, done)[:, t].softmax(-1)
        done[:, t] = torch.multinomial(probs, 1, generator=gen).squeeze(1)
    return done


def reward_fn(prompts, completions):
    return completions.eq(prompts.sort(1).values).float().mean(1)


def policy_loss(policy, prompts, completions, advantages, entropy_coef):
    logits = policy(prompts, completions)
    logp = F.log_softmax(logits, -1)
    picked = logp.gather(2, completions.unsqueeze(2)).squeeze(2).sum(1)
    entropy = -(logp.exp() * logp).sum(-1).mean()
    return -(advantages * picked).mean() - entropy_coef * entropy


@torch.no_grad()
def greedy_reward(net, prompts):
    done = torch.full_like(prompts, VOCAB)
    for t in range(LENGTH):
        done[:, t] = net(prompts, done)[:, t].argmax(-1)
    return reward_fn(prompts, done).mean()


def parameter_gap(net):
    """Largest absolute difference of a parameter between the ranks."""
    flat = torch.cat([p.detach().flatten() for p in net.parameters()])
    copies = [torch.empty_like(flat) for _ in range(WORLD)]
    dist.all_gather(copies, flat)
    return (copies[0] - copies[1]).abs().max().item()


def worker(rank, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=WORLD)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Policy())
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(1000 * args.seed + rank)

    for step in range(args.steps):
        prompts = torch.randint(VOCAB, (PROMPTS, LENGTH), generator=gen).repeat_interleave(GROUP, 0)
        policy = model.module
        completions = rollout(policy, prompts, gen)
        rewards = reward_fn(prompts, completions).view(PROMPTS, GROUP)
        adv = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)

        loss = policy_loss(model, prompts, completions, adv.flatten(), args.entropy_coef)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if rank == 0 and (step % 20 == 0 or step == args.steps - 1):
            print(f"step {step} loss {loss.item():.4f} reward {rewards.mean().item():.3f}", flush=True)

    test = torch.randint(VOCAB, (300, LENGTH), generator=torch.Generator().manual_seed(77))
    score = greedy_reward(model.module, test)
    dist.all_reduce(score)
    gap = parameter_gap(model.module)
    if rank == 0:
        print(f"EVIDENCE greedy_reward={score.item() / WORLD:.3f} rank_gap={gap:.6f}", flush=True)
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--entropy_coef", type=float, default=0.01)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(args, os.path.join(folder, "store")), nprocs=WORLD)


if __name__ == "__main__":
    main()
