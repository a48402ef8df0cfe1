"""Soft actor-critic on a small steering task, stopped halfway and resumed from a checkpoint."""
import argparse
import copy
import os
import random
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class Steering:
    """A marker has to be kept near a slowly moving target."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.x, self.target, self.t = self.rng.uniform(-1, 1), self.rng.uniform(-1, 1), 0
        return [self.x, self.target]

    def step(self, action):
        self.x = max(-2.0, min(2.0, self.x + 0.4 * action))
        self.target = max(-1.5, min(1.5, self.target + self.rng.uniform(-0.05, 0.05)))
        self.t += 1
        return [self.x, self.target], -abs(self.x - self.target), self.t == 25


def mlp(inputs, outputs, width=48):
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs))


class SACPolicy(nn.Module):
    def __init__(self, init_temperature=1.0):
        super().__init__()
        self.actor = mlp(2, 2)
        self.critics = nn.ModuleList([mlp(3, 1), mlp(3, 1)])
        self.target_critics = copy.deepcopy(self.critics).requires_grad_(False)
        self.log_alpha = nn.Parameter(torch.tensor(init_temperature).log())
        self.target_entropy = -1.0

    def sample(self, obs):
        mean, log_std = self.actor(obs).chunk(2, dim=-1)
        dist = torch.distributions.Normal(mean, log_std.clamp(-4, 1).exp())
        raw = dist.rsample()
        log_prob = dist.log_prob(raw) - 2 * (0.6931 - raw - F.softplus(-2 * raw))
        return raw.tanh(), log_prob.squeeze(-1)

    @staticmethod
    def q_min(critics, obs, action):
        return torch.min(*[c(torch.cat([obs, action], -1)).squeeze(-1) for c in critics])


class Learner:
    MODULES = ("actor", "critics", "target_critics")

    def __init__(self, lr):
        self.policy = SACPolicy()
        self.optimizers = {"actor": torch.optim.Adam(self.policy.actor.parameters(), lr=lr),
                           "critics": torch.optim.Adam(self.policy.critics.parameters(), lr=lr),
                           "temperature": torch.optim.Adam([self.policy.log_alpha], lr=5 * lr)}

    def update(self, batch, gamma=0.9, tau=0.02):
        obs, action, reward, next_obs = batch
        policy, alpha = self.policy, self.policy.log_alpha.exp().detach()
        with torch.no_grad():
            next_action, next_logp = policy.sample(next_obs)
            target = reward + gamma * (policy.q_min(policy.target_critics, next_obs, next_action) - alpha * next_logp)
        critic_loss = sum(F.mse_loss(c(torch.cat([obs, action], -1)).squeeze(-1), target) for c in policy.critics)
        self.apply("critics", critic_loss)
        new_action, logp = policy.sample(obs)
        self.apply("actor", (alpha * logp - policy.q_min(policy.critics, obs, new_action)).mean())
        self.apply("temperature", -(policy.log_alpha.exp() * (logp.detach() + policy.target_entropy)).mean())
        with torch.no_grad():
            for mine, theirs in zip(policy.target_critics.parameters(), policy.critics.parameters()):
                mine.lerp_(theirs, tau)
        return critic_loss.item()

    def apply(self, name, loss):
        self.optimizers[name].zero_grad()
        loss.backward()
        self.optimizers[name].step()

    def save(self, path):
        torch.save({"modules": {name: getattr(self.policy, name).state_dict() for name in self.MODULES},
                    "log_alpha": self.policy.log_alpha.detach(),
                    "optimizers": {k: o.state_dict() for k, o in self.optimizers.items()}}, path)

    def load(self, path):
        state = torch.load(path)
        for name in self.MODULES:
            getattr(self.policy, name).load_state_dict(state["modules"][name])
        self.policy.log_alpha.data.copy_(state["log_alpha"])
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state["optimizers"][name])


def run(learner, env, buffer, rng, steps):
    obs, losses = env.reset(), []
    for _ in range(steps):
        for _ in range(8):
            with torch.no_grad():
                action = learner.policy.sample(torch.tensor([obs]))[0].item()
            next_obs, reward, done = env.step(action)
            buffer.append((obs, [action], reward, next_obs))
            obs = env.reset() if done else next_obs
        for _ in range(4):
            batch = [torch.tensor(column) for column in zip(*rng.choices(buffer, k=64))]
            losses.append(learner.update(batch))
    return sum(losses[-20:]) / len(losses[-20:])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    env, buffer, learner = Steering(rng), [], Learner(args.lr)
    before = run(learner, env, buffer, rng, args.steps - args.steps // 10)
    alpha_saved = learner.policy.log_alpha.exp().item()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sac.pt")
        learner.save(path)
        learner = Learner(args.lr)
        learner.load(path)
    alpha_resumed = learner.policy.log_alpha.exp().item()
    after = run(learner, env, buffer, rng, args.steps // 10)
    print(f"critic_loss before {before:.4f} after {after:.4f}")
    print(f"EVIDENCE alpha_saved={alpha_saved:.4f} alpha_resumed={alpha_resumed:.4f} critic_loss_after={after:.4f}")
