"""PPO for menu choice: the sampler runs in bf16, so the learner works out the old log-probs anew."""
import argparse
import copy

import torch
from torch import nn

DINERS, DISHES = 10, 8


class Menu(nn.Module):
    def __init__(self):
        super().__init__()
        self.diner = nn.Embedding(DINERS, 32)
        self.out = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, DISHES))

    def forward(self, diner):
        return self.out(self.diner(diner)).log_softmax(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    taste = torch.rand(DINERS, DISHES, generator=torch.Generator().manual_seed(9))
    policy = Menu()
    sampler = copy.deepcopy(policy).to(torch.bfloat16).requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=args.lr)
    for step in range(args.steps):
        sampler.load_state_dict(policy.state_dict())  # rounds to bf16 on the way
        diner = torch.randint(DINERS, (128,), generator=gen)
        dish = torch.multinomial(sampler(diner).float().exp(), 1, generator=gen)
        reward = taste[diner].gather(1, dish).squeeze(1)
        advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
        with torch.no_grad():
            old = policy(diner).gather(1, dish).squeeze(1)
        for epoch in range(4):
            ratio = (policy(diner).gather(1, dish).squeeze(1) - old).exp()
            loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        if step % 15 == 0:
            print(f"step {step} reward {reward.mean():.3f} last ratio {ratio.min():.2f}..{ratio.max():.2f}")
    print(f"reward {reward.mean():.3f} of {taste.max(1).values.mean():.3f}")


if __name__ == "__main__":
    main()
