"""PPO that leaves its epochs early when the policy has moved too far, with a rate that follows the divergence."""
import argparse

import torch
import torch.nn as nn
from torch.distributions import Normal


def contexts(n, gen):
    return torch.rand(n, 4, generator=gen) * 2 - 1


def payoff(x, a):
    best = torch.stack([x[:, 0] * x[:, 1], x[:, 2] - 0.5 * x[:, 3]], 1)
    return -(a - best).pow(2).sum(1)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(4, 40), nn.Tanh(), nn.Linear(40, 2))
        self.value = nn.Sequential(nn.Linear(4, 40), nn.Tanh(), nn.Linear(40, 1))
        self.log_std = nn.Parameter(torch.zeros(2) - 0.7)

    def dist(self, x):
        return Normal(self.mean(x), self.log_std.exp())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--target-kl", type=float, default=0.015)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    updates = 0
    for it in range(args.steps):
        x = contexts(256, gen)
        with torch.no_grad():
            old = policy.dist(x)
            a = old.sample()
            r, old_logp, v = payoff(x, a), old.log_prob(a).sum(1), policy.value(x).squeeze(1)
        adv = (r - v - (r - v).mean()) / (r - v).std()
        stop = False
        for _ in range(8):
            for idx in torch.randperm(256, generator=gen).split(64):
                dist = policy.dist(x[idx])
                ratio = (dist.log_prob(a[idx]).sum(1) - old_logp[idx]).exp()
                with torch.no_grad():
                    kl = ((ratio - 1) - ratio.log()).mean().item()
                if kl > 1.5 * args.target_kl:
                    stop = True
                    break
                gain = torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]).mean()
                loss = -gain + 0.5 * (policy.value(x[idx]).squeeze(1) - r[idx]).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                updates += 1
            if stop:
                break
        for group in optimizer.param_groups:
            group["lr"] = min(2 * args.lr, max(args.lr / 10, group["lr"] * (0.67 if kl > args.target_kl else 1.1)))
        if it % 10 == 0:
            print(f"rollout {it} payoff {r.mean():.4f} updates {updates}")
    print(f"RESULT payoff={r.mean():.4f}")


if __name__ == "__main__":
    main()
