"""REINFORCE on a small corridor world: one optimizer step for an episode."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

from options import options


class Corridor:
    """Walk to the right end of nine cells; a third of the moves slips."""

    def __init__(self, generator):
        self.generator = generator

    def reset(self):
        self.at, self.left = 4, 30
        return self.observe()

    def observe(self):
        return F.one_hot(torch.tensor(self.at), 9).float()

    def step(self, action):
        slip = torch.rand((), generator=self.generator).item() < 0.3
        self.at = max(0, min(8, self.at + (1 if (action == 1) != slip else -1)))
        self.left -= 1
        done = self.at == 8 or self.left == 0
        return self.observe(), (1.0 if self.at == 8 else -0.02), done


class Policy(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.affine1 = nn.Linear(9, hidden)
        self.dropout = nn.Dropout(p=0.1)
        self.affine2 = nn.Linear(hidden, 2)

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=-1)


def run_episode(env, policy):
    state, log_probs, rewards, done = env.reset(), [], [], False
    while not done:
        m = Categorical(policy(state))
        action = m.sample()
        log_probs.append(m.log_prob(action))
        state, reward, done = env.step(action.item())
        rewards.append(reward)
    return log_probs, rewards


def returns(rewards, gamma=0.97):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        out.insert(0, g)
    out = torch.tensor(out)
    return (out - out.mean()) / (out.std() + 1e-6)


def main():
    args = options(lr=1e-2, width=32, steps=40)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env = Corridor(torch.Generator().manual_seed(args.seed))
    policy = Policy(args.width)
    optimizer = optim.Adam(policy.parameters(), lr=args.lr)
    lengths = []
    for episode in range(args.steps):
        log_probs, rewards = run_episode(env, policy)
        loss = torch.stack([-p * r for p, r in zip(log_probs, returns(rewards))]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
    policy.eval()
    with torch.inference_mode():
        greedy = policy(torch.eye(9)).argmax(-1).tolist()
    third = max(1, len(lengths) // 3)
    print(f"episode length {sum(lengths[:third]) / third:.1f} -> {sum(lengths[-third:]) / third:.1f}, greedy {greedy}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
