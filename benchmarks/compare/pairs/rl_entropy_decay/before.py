"""Actor-critic on a batch of small grid worlds with pits."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

SIZE = 6
MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


class GridBatch:
    """All the worlds share the map; only the start differs."""

    def __init__(self, n, gen):
        self.n = n
        self.gen = gen
        self.goal = torch.tensor([SIZE - 1, SIZE - 1])
        self.pits = torch.zeros(SIZE, SIZE, dtype=torch.bool)
        self.pits[2, 1:4] = True
        self.pits[4, 3] = True

    def reset(self):
        self.pos = torch.randint(0, 2, (self.n, 2), generator=self.gen)
        self.done = torch.zeros(self.n, dtype=torch.bool)
        return self.observe()

    def observe(self):
        return F.one_hot(self.pos[:, 0] * SIZE + self.pos[:, 1], SIZE * SIZE).float()

    def step(self, action):
        active = ~self.done
        nxt = (self.pos + MOVES[action]).clamp(0, SIZE - 1)
        self.pos = torch.where(active.unsqueeze(1), nxt, self.pos)
        won = (self.pos == self.goal).all(1)
        fell = self.pits[self.pos[:, 0], self.pos[:, 1]]
        reward = torch.where(won, 1.0, torch.where(fell, -1.0, -0.02))
        self.done = self.done | won | fell
        return self.observe(), reward * active, active, won


class ActorCritic(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(SIZE * SIZE, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, 4)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--gamma", type=float, default=0.97)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    env = GridBatch(64, torch.Generator().manual_seed(args.seed))
    net = ActorCritic()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)

    for update in range(args.steps):
        obs = env.reset()
        logps, values, rewards, masks, ents = [], [], [], [], []
        for _ in range(24):
            dist, value = net(obs)
            action = dist.sample()
            obs, reward, active, won = env.step(action)
            logps.append(dist.log_prob(action))
            values.append(value)
            rewards.append(reward)
            masks.append(active.float())
            ents.append(dist.entropy())

        ret = torch.zeros(env.n)
        returns = []
        for r in reversed(rewards):
            ret = r + args.gamma * ret
            returns.insert(0, ret)
        returns, values, mask = torch.stack(returns), torch.stack(values), torch.stack(masks)
        adv = (returns - values).detach()
        total = mask.sum()
        policy_loss = -(torch.stack(logps) * adv * mask).sum() / total
        value_loss = ((returns - values) ** 2 * mask).sum() / total
        entropy = (torch.stack(ents) * mask).sum() / total
        ent_coef = 0.01
        loss = policy_loss + 0.5 * value_loss - ent_coef * entropy
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        if update % 10 == 0 or update == args.steps - 1:
            mean_ret = torch.stack(rewards).sum(0).mean().item()
            print(f"update {update} loss {loss.item():.6f} return {mean_ret:.3f} ent {entropy.item():.3f}")

    print(f"EVIDENCE win_rate={won.float().mean().item():.4f}")


if __name__ == "__main__":
    main()
