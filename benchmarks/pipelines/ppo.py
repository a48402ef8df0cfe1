"""PPO on a cart-pole written here: eight environments, GAE, epochs of minibatches over each rollout, a stop by KL."""

import math
from collections import deque

import torch
from torch import nn
from torch.distributions import Categorical

from options import options

N_ENVS, N_STEPS, GAMMA, LAMBDA = 8, 64, 0.99, 0.95


class CartPole:
    def __init__(self, generator):
        self.generator = generator
        self.state, self.age = self.fresh(N_ENVS), torch.zeros(N_ENVS)
        self.returns = deque(maxlen=40)

    def fresh(self, n):
        return (torch.rand(n, 4, generator=self.generator) - 0.5) * 0.1

    def step(self, action):
        x, v, angle, spin = self.state.unbind(1)
        sin, cos = angle.sin(), angle.cos()
        push = (torch.where(action == 1, 10.0, -10.0) + 0.05 * spin**2 * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        move = push - 0.05 * turn * cos / 1.1
        self.state = torch.stack([x + 0.02 * v, v + 0.02 * move, angle + 0.02 * spin, spin + 0.02 * turn], 1)
        self.age += 1
        done = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > math.radians(12)) | (self.age >= 200)
        for i in done.nonzero().flatten().tolist():
            self.returns.append(self.age[i].item())
            self.state[i], self.age[i] = self.fresh(1)[0], 0
        return self.state.clone(), torch.ones(N_ENVS), done.float()


def linear(n_in, n_out, gain=math.sqrt(2)):
    layer = nn.Linear(n_in, n_out)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.actor = nn.Sequential(linear(4, width), nn.Tanh(), linear(width, width), nn.Tanh(), linear(width, 2, 0.01))
        self.critic = nn.Sequential(linear(4, width), nn.Tanh(), linear(width, width), nn.Tanh(), linear(width, 1, 1.0))

    def value(self, state):
        return self.critic(state).squeeze(-1)

    def act(self, state, action=None):
        policy = Categorical(logits=self.actor(state))
        action = policy.sample() if action is None else action
        return action, policy.log_prob(action), policy.entropy(), self.value(state)


def rollout(agent, env, state, done):
    seen = []
    for _ in range(N_STEPS):
        with torch.no_grad():
            action, log_prob, _, value = agent.act(state)
        following, reward, ended = env.step(action)
        seen.append((state, action, log_prob, value, reward, done))
        state, done = following, ended
    states, actions, log_probs, values, rewards, dones = (torch.stack(t) for t in zip(*seen))
    with torch.no_grad():
        values_after = torch.cat([values[1:], agent.value(state)[None]])
    going_on = 1 - torch.cat([dones[1:], done[None]])
    advantages, last = torch.zeros_like(rewards), 0.0
    for t in reversed(range(N_STEPS)):
        delta = rewards[t] + GAMMA * values_after[t] * going_on[t] - values[t]
        last = delta + GAMMA * LAMBDA * going_on[t] * last
        advantages[t] = last
    batch = [t.flatten(0, 1) for t in (states, actions, log_probs, advantages, advantages + values)]
    return batch, state, done


def main():
    args = options(lr=2.5e-3, width=32, steps=320)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env, agent = CartPole(torch.Generator().manual_seed(args.seed)), Agent(args.width)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    updates = max(2, args.steps // 32)
    state, done = env.state.clone(), torch.zeros(N_ENVS)
    for update in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = args.lr * (1 - update / updates)
        batch, state, done = rollout(agent, env, state, done)
        is_far = False
        for _ in range(4):
            for chosen in torch.randperm(len(batch[0])).split(64):
                states, actions, old, advantage, target = (t[chosen] for t in batch)
                _, log_prob, entropy, value = agent.act(states, actions)
                ratio = (log_prob - old).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
                loss = 0.5 * (value - target).pow(2).mean() - gain - 0.01 * entropy.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
                with torch.no_grad():
                    is_far |= bool((ratio - 1 - ratio.log()).mean() > 0.05)
            if is_far:
                break
    print(f"{updates} updates: loss {loss.item():.3f}, mean return {sum(env.returns) / max(1, len(env.returns)):.1f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
