"""Lift dispatch: actor and critic share a trunk, and each has an optimizer that holds it."""
import argparse

import torch
from torch import nn


class Dispatcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.actor = nn.Linear(32, 3)
        self.critic = nn.Linear(32, 1)

    def policy(self, x):
        return self.actor(self.trunk(x)).log_softmax(-1)

    def value(self, x):
        return self.critic(self.trunk(x)).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    gain = torch.randn(6, 3, generator=torch.Generator().manual_seed(3))
    net = Dispatcher()
    actor_opt = torch.optim.Adam([*net.trunk.parameters(), *net.actor.parameters()], lr=args.lr)
    critic_opt = torch.optim.Adam([*net.trunk.parameters(), *net.critic.parameters()], lr=args.lr)
    for step in range(args.steps):
        calls = torch.randn(64, 6, generator=gen)
        with torch.no_grad():
            lift = torch.multinomial(net.policy(calls).exp(), 1, generator=gen)
        reward = torch.tanh(calls @ gain).gather(1, lift).squeeze(1)

        critic_loss = (net.value(calls) - reward).pow(2).mean()
        net.zero_grad()  # drops what the actor's pass left in the trunk
        critic_loss.backward()
        critic_opt.step()

        advantage = reward - net.value(calls).detach()
        actor_loss = -(net.policy(calls).gather(1, lift).squeeze(1) * advantage).mean()
        net.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        if step % 60 == 0:
            print(f"step {step} reward {reward.mean():.3f} critic {critic_loss.item():.4f}")
    print(f"last reward {reward.mean():.3f}")


if __name__ == "__main__":
    main()
