"""Actor and critic with values that are rescaled: the last layer is changed so that outputs stay when the scale moves."""
import argparse

import torch
from torch import nn
from torch.distributions import Categorical


class PopArt(nn.Module):
    def __init__(self, inputs, beta=0.05):
        super().__init__()
        self.linear, self.beta = nn.Linear(inputs, 1), beta
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("square", torch.ones(1))

    @property
    def std(self):
        return (self.square - self.mean ** 2).clamp(min=1e-4).sqrt()

    def forward(self, x):
        return self.linear(x).squeeze(-1)

    def denormalise(self, values):
        return values * self.std + self.mean

    @torch.no_grad()
    def update(self, targets):
        old_mean, old_std = self.mean.clone(), self.std.clone()
        self.mean.lerp_(targets.mean().view(1), self.beta)
        self.square.lerp_(targets.pow(2).mean().view(1), self.beta)
        self.linear.weight.mul_(old_std / self.std)
        self.linear.bias.mul_(old_std).add_(old_mean - self.mean).div_(self.std)
        return (targets - self.mean) / self.std


class Treasure:
    """A walk on a line that may end early; rewards grow by a factor as training goes on."""

    def __init__(self, factor):
        self.factor, self.at, self.t = factor, 0, 0

    def observe(self):
        return torch.tensor([self.at / 5, self.t / 20, 1.0])

    def step(self, action):
        self.at = max(self.at + (1 if action == 1 else -1), -2)
        self.t += 1
        slipped = bool(torch.rand(()) < 0.02)
        reward = self.factor if self.at == 5 else -0.05 * self.factor
        return self.observe(), reward, self.at == 5 or self.t == 20 or slipped


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 48), nn.Tanh())
        self.actor, self.critic = nn.Linear(48, 2), PopArt(48)


def run(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr)
    for update in range(1, args.steps + 1):
        factor = 10.0 ** (3.0 * update / args.steps)
        observations, actions, returns, reached = [], [], [], 0
        for _ in range(6):
            env, done, rewards = Treasure(factor), False, []
            seen = env.observe()
            while not done:
                with torch.no_grad():
                    action = Categorical(logits=agent.actor(agent.trunk(seen))).sample().item()
                observations.append(seen)
                actions.append(action)
                seen, reward, done = env.step(action)
                rewards.append(reward)
            reached += int(env.at == 5)
            total, part = 0.0, []
            for reward in reversed(rewards):
                total = reward + 0.97 * total
                part.insert(0, total)
            returns += part
        x, returns = torch.stack(observations), torch.tensor(returns)
        normalised = agent.critic.update(returns)
        hidden = agent.trunk(x)
        policy, values = Categorical(logits=agent.actor(hidden)), agent.critic(hidden)
        advantage = (normalised - values).detach()
        loss = -(policy.log_prob(torch.tensor(actions)) * advantage).mean() - 0.02 * policy.entropy().mean() + \
            0.5 * nn.functional.mse_loss(values, normalised)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
        if update % 40 == 0:
            guess = agent.critic.denormalise(values.detach()).mean().item()
            print(f"update {update}: factor {factor:.1f}, reached {reached}/6, "
                  f"return {returns.mean().item():.2f}, guess {guess:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.004)
    parser.add_argument("--steps", type=int, default=160)
    run(parser.parse_args())

# SPDX-License-Identifier: Apache-2.0
