"""PPO in a maze: moves into walls masked by -inf, several epochs over one rollout, a policy that is never put into eval()."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

from options import options

MAZE = ["....#..", ".##.#.#", ".#.....", "...##.#", ".#.#...", ".#...#."]
MOVES = torch.tensor([[-1, 0], [1, 0], [0, -1], [0, 1]])


class Maze:
    """Many walkers at once. Walk to the lower right corner; a walker that is there starts again somewhere."""

    def __init__(self, walkers):
        self.free = torch.tensor([[c == "." for c in row] for row in MAZE])
        self.goal = torch.tensor([len(MAZE) - 1, len(MAZE[0]) - 1])
        self.cells = self.free.nonzero()[:-1]
        self.at = self.cells[torch.randint(len(self.cells), (walkers,))]

    def observe(self):
        """One number for the cell, and which of the four moves are open."""
        beyond = F.pad(self.free, (1, 1, 1, 1))
        to = self.at[:, None] + MOVES + 1
        return self.at[:, 0] * len(MAZE[0]) + self.at[:, 1], beyond[to[..., 0], to[..., 1]]

    def step(self, actions):
        self.at = self.at + MOVES[actions]
        done = (self.at == self.goal).all(dim=1)
        fresh = self.cells[torch.randint(len(self.cells), (len(self.at),))]
        self.at = torch.where(done[:, None], fresh, self.at)
        return torch.where(done, 1.0, -0.05), done


def body(cells, width):
    return nn.Sequential(nn.Embedding(cells, width), nn.Linear(width, width), nn.Tanh())


class Actor(nn.Module):
    """Logits of the moves; those of moves into walls are -inf."""

    def __init__(self, cells, width):
        super().__init__()
        self.body, self.out = body(cells, width), nn.Linear(width, len(MOVES))
        nn.init.orthogonal_(self.out.weight, gain=0.01)

    def forward(self, cell, can_go):
        return self.out(self.body(cell)).masked_fill(~can_go, float("-inf"))


@torch.no_grad()
def rollout(env, actor, critic, length, gamma=0.95, lam=0.9):
    """`length` moves of each walker, flattened, with advantages and returns by GAE; and how often a goal was met."""
    seen = []
    for _ in range(length):
        cell, can_go = env.observe()
        policy = Categorical(logits=actor(cell, can_go))
        action = policy.sample()
        seen.append((cell, can_go, action, policy.log_prob(action), critic(cell), *env.step(action)))
    cells, can_go, actions, log_probs, values, rewards, dones = (torch.stack(column) for column in zip(*seen))
    after, advantage, advantages = critic(env.observe()[0]), torch.zeros(len(env.at)), []
    for reward, done, value in zip(rewards.flip(0), dones.flip(0), values.flip(0)):
        advantage = reward + gamma * after * ~done - value + gamma * lam * advantage * ~done
        after = value
        advantages.insert(0, advantage)
    advantages = torch.stack(advantages)
    batch = [cells, can_go, actions, log_probs, advantages, advantages + values]
    return [column.flatten(0, 1) for column in batch], dones.float().mean().item()


def ppo_loss(actor, critic, cells, can_go, actions, log_probs, advantages, returns):
    policy = Categorical(logits=actor(cells, can_go))
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = torch.exp(policy.log_prob(actions) - log_probs)
    gain = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
    return -gain + 0.5 * F.mse_loss(critic(cells), returns) - 0.01 * policy.entropy().mean()


def main():
    args = options(lr=5e-3, width=32, steps=160)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env = Maze(walkers=32)
    cells = len(MAZE) * len(MAZE[0])
    actor = Actor(cells, args.width)
    critic = nn.Sequential(body(cells, args.width), nn.Linear(args.width, 1), nn.Flatten(0))
    params = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(params, lr=args.lr, eps=1e-5)
    epochs, minibatches = 4, 4
    for update in range(max(2, args.steps // (epochs * minibatches))):
        batch, goals = rollout(env, actor, critic, length=16)
        for _ in range(epochs):
            for rows in torch.randperm(len(batch[0])).chunk(minibatches):
                loss = ppo_loss(actor, critic, *(column[rows] for column in batch))
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(params, 0.5)
                optimizer.step()
        print(f"update {update}: loss {loss.item():.3f}, goals in 100 moves {100 * goals:.1f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
