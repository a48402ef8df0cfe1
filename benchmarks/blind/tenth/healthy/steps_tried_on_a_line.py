"""Steps of a policy by conjugate gradients within a trust region, tried on a line and sometimes given up; only the critic has an optimizer."""
import argparse

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.nn.utils import parameters_to_vector, vector_to_parameters

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
policy = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
log_std = nn.Parameter(torch.tensor(-0.3))
critic = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=args.lr)
weights = [*policy.parameters(), log_std]


def act(obs):
    return Normal(policy(obs).squeeze(-1), log_std.exp())


@torch.no_grad()
def rollout(count=32, length=25):
    place, speed, rows = torch.rand(count) * 2 - 1, torch.zeros(count), []
    for _ in range(length):
        obs = torch.stack([place, speed], 1)
        action = act(obs).sample()
        speed = 0.9 * speed + 0.2 * action.clamp(-1, 1)
        place = place + 0.3 * speed
        rows.append((obs, action, -place.pow(2) - 0.01 * action.pow(2)))
    obs, action, reward = (torch.stack(c) for c in zip(*rows))
    returns, total = torch.zeros_like(reward), torch.zeros(count)
    for t in reversed(range(length)):
        total = reward[t] + 0.95 * total
        returns[t] = total
    return obs.flatten(0, 1), action.flatten(), returns.flatten(), reward.mean().item()


def flat_grad(value, **more):
    return torch.cat([g.flatten() for g in torch.autograd.grad(value, weights, **more)])


given_up = 0
for step in range(1, args.steps + 1):
    obs, action, returns, reward = rollout()
    with torch.no_grad():
        advantage = returns - critic(obs).squeeze(1)
        advantage = (advantage - advantage.mean()) / advantage.std()
        old = act(obs)
        old_logp = old.log_prob(action)

    def gain():
        return ((act(obs).log_prob(action) - old_logp).exp() * advantage).mean()

    def fisher(vector):
        divergence = kl_divergence(old, act(obs)).mean()
        slope = flat_grad(divergence, create_graph=True)
        return flat_grad(slope @ vector) + 0.05 * vector

    goal = flat_grad(gain())
    way, rest = torch.zeros_like(goal), goal.clone()
    search, norm = rest.clone(), rest @ rest
    for _ in range(8):
        product = fisher(search)
        alpha = norm / (search @ product)
        way, rest = way + alpha * search, rest - alpha * product
        search, norm = rest + (rest @ rest) / norm * search, rest @ rest
        if norm < 1e-10:
            break
    way *= torch.sqrt(2 * 0.01 / (way @ fisher(way)))
    before, value = parameters_to_vector(weights).detach(), gain().item()
    with torch.no_grad():
        for part in (1.0, 0.5, 0.25, 0.125):
            vector_to_parameters(before + part * way, weights)
            if gain().item() > value and kl_divergence(old, act(obs)).mean().item() < 0.012:
                break
        else:
            vector_to_parameters(before, weights)
            given_up += 1
    for _ in range(8):
        loss = nn.functional.mse_loss(critic(obs).squeeze(1), returns)
        critic_optimizer.zero_grad()
        loss.backward()
        critic_optimizer.step()
    if step % 10 == 0:
        print(f"step {step}: reward {reward:.4f}, critic {loss.item():.4f}, steps given up {given_up}")

# SPDX-License-Identifier: Apache-2.0
