"""Q-learning for a thermostat: the target network is a frozen copy, renewed every k updates."""
import argparse
import copy

import torch
from torch import nn
import torch.nn.functional as F


def q_net():
    return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3))


def room_step(temp, outside, action, gen):
    heat = action.float() * 0.4
    temp = temp + heat - 0.1 * (temp - outside) + 0.05 * torch.randn(temp.shape, generator=gen)
    return temp, -(temp - 2.0).abs() - 0.05 * action.float()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--copy_every", type=int, default=40)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    online = q_net()
    target = copy.deepcopy(online).requires_grad_(False)
    opt = torch.optim.Adam(online.parameters(), lr=args.lr)
    temp, outside = torch.zeros(64), torch.rand(64, generator=gen) - 0.5
    for step in range(args.steps):
        if step % args.copy_every == 0:
            target.load_state_dict(online.state_dict())
        obs = torch.stack([temp, outside], 1)
        with torch.no_grad():
            action = online(obs).argmax(1)
        random = torch.rand(64, generator=gen) < 0.2
        action = torch.where(random, torch.randint(3, (64,), generator=gen), action)
        temp, reward = room_step(temp, outside, action, gen)
        with torch.no_grad():
            goal = reward + 0.9 * target(torch.stack([temp, outside], 1)).max(1).values
        loss = F.smooth_l1_loss(online(obs).gather(1, action[:, None]).squeeze(1), goal)
        opt.zero_grad()
        loss.backward()
        opt.step()
        # a few rooms are let out anew each tick; the buffer is the stream itself
        fresh = torch.rand(64, generator=gen) < 0.05
        temp = torch.where(fresh, 4 * torch.rand(64, generator=gen) - 1, temp)
        if step % 80 == 0:
            print(f"step {step} loss {loss.item():.4f} off by {(temp - 2).abs().mean():.3f}")
    print(f"off by {(temp - 2).abs().mean():.3f}")


if __name__ == "__main__":
    main()
