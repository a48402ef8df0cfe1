"""Offline reinforcement learning: values are upper expectiles, actions of a fixed data set are copied by their advantage."""
import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=350)
parser.add_argument("--expectile", type=float, default=0.8)
parser.add_argument("--temperature", type=float, default=4.0)


def move(place, action, rng):
    place = np.clip(place + 0.25 * np.clip(action, -1, 1) + 0.03 * rng.normal(size=2), -1, 1)
    miss = np.linalg.norm(place - 0.6)
    return place, -miss, bool(miss < 0.15)


def collect(episodes, rng):
    """A clumsy player: sometimes it knows where to go, mostly it does not; episodes end by success or are cut."""
    rows = []
    for _ in range(episodes):
        place, skill = rng.uniform(-1, 1, 2), rng.random()
        for _ in range(15):
            good = rng.random() < skill
            action = np.clip((3 * (0.6 - place) if good else rng.normal(size=2)) + 0.2 * rng.normal(size=2), -1, 1)
            new, reward, end = move(place, action, rng)
            rows.append((place, action, reward, new, float(end)))
            place = new
            if end:
                break
    return [torch.tensor(np.array(part), dtype=torch.float32) for part in zip(*rows)]


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, outputs))


if __name__ == "__main__":
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    data = collect(120, rng)
    data[2] = (data[2] - data[2].mean()) / data[2].std()
    qs, v, policy = nn.ModuleList([mlp(4, 1), mlp(4, 1)]), mlp(2, 1), mlp(2, 2)
    target = copy.deepcopy(qs).requires_grad_(False)
    optimizers = {name: torch.optim.Adam(net.parameters(), lr=args.lr) for name, net in (("q", qs), ("v", v), ("p", policy))}
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(optimizers["p"], args.steps)  # the policy's rate only
    for step in range(1, args.steps + 1):
        rows = torch.randint(len(data[0]), (64,))
        s, a, r, s2, end = (part[rows] for part in data)
        with torch.no_grad():
            q = torch.min(*(net(torch.cat([s, a], 1)) for net in target)).squeeze(1)
        value = v(s).squeeze(1)
        gap = q - value
        weight = torch.where(gap > 0, args.expectile, 1 - args.expectile)
        losses = {"v": (weight * gap.square()).mean()}
        with torch.no_grad():
            backup = r + 0.9 * (1 - end) * v(s2).squeeze(1)
        losses["q"] = sum(F.mse_loss(net(torch.cat([s, a], 1)).squeeze(1), backup) for net in qs)
        push = (args.temperature * gap.detach()).exp().clamp(max=20.0)
        if step > 30:  # values first
            losses["p"] = (push[:, None] * (policy(s).tanh() - a).square()).mean()
        for name, loss in losses.items():
            optimizers[name].zero_grad()
            loss.backward()
            optimizers[name].step()
        if "p" in losses:
            fall.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), qs.parameters()):
                slow.lerp_(fast, 0.02)
        if step % 70 == 0:
            scores = []
            for _ in range(10):
                place, total = rng.uniform(-1, 1, 2), 0.0
                for _ in range(15):
                    with torch.no_grad():
                        action = policy(torch.tensor(place, dtype=torch.float32)).tanh().numpy()
                    place, reward, over = move(place, action, rng)
                    total += reward
                    if over:
                        break
                scores.append(total)
            told = ", ".join(f"{name} {loss.item():.3f}" for name, loss in losses.items())
            print(f"step {step}: {told}, most weight {push.max().item():.1f}, return {np.mean(scores):.2f}")

# SPDX-License-Identifier: Apache-2.0
