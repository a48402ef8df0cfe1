"""PPO with GAE on a small grid with a goal and pits (several environments side by side)."""
import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical

GRID = 5
GOAL = (4, 4)
PITS = {(1, 3), (3, 1)}
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class GridEnvs:
    """Vectorised grid; an episode that ends is restarted at once and its new start is returned."""

    def __init__(self, n, seed):
        self.n = n
        self.gen = torch.Generator().manual_seed(seed)
        self.cells = [self._start() for _ in range(n)]

    def _start(self):
        free = [(r, c) for r in range(GRID) for c in range(GRID) if (r, c) != GOAL and (r, c) not in PITS]
        return free[torch.randint(len(free), (1,), generator=self.gen).item()]

    def obs(self):
        out = torch.zeros(self.n, GRID * GRID)
        for i, (r, c) in enumerate(self.cells):
            out[i, r * GRID + c] = 1.0
        return out

    def step(self, actions):
        rewards, dones = torch.full((self.n,), -0.02), torch.zeros(self.n)
        for i, a in enumerate(actions.tolist()):
            r = min(max(self.cells[i][0] + MOVES[a][0], 0), GRID - 1)
            c = min(max(self.cells[i][1] + MOVES[a][1], 0), GRID - 1)
            if (r, c) == GOAL or (r, c) in PITS:
                rewards[i] = 1.0 if (r, c) == GOAL else -0.5
                dones[i] = 1.0
                self.cells[i] = self._start()
            else:
                self.cells[i] = (r, c)
        return self.obs(), rewards, dones


class ActorCritic(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(GRID * GRID, hidden), nn.Tanh(), nn.Linear(hidden, 4))
        self.critic = nn.Sequential(nn.Linear(GRID * GRID, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, obs):
        return Categorical(logits=self.actor(obs)), self.critic(obs).squeeze(-1)


@torch.no_grad()
def collect(model, envs, obs, horizon):
    rows = {k: [] for k in ("obs", "act", "logp", "val", "rew", "done")}
    for _ in range(horizon):
        dist, value = model(obs)
        action = dist.sample()
        next_obs, reward, done = envs.step(action)
        for key, item in zip(rows, (obs, action, dist.log_prob(action), value, reward, done)):
            rows[key].append(item)
        obs = next_obs
    last_value = model(obs)[1]
    return {k: torch.stack(v) for k, v in rows.items()}, obs, last_value


def compute_gae(rew, val, done, last_value, gamma, lam):
    """done[t] tells whether the transition out of step t ended the episode."""
    horizon = rew.size(0)
    adv = torch.zeros_like(rew)
    running = torch.zeros_like(last_value)
    for t in reversed(range(horizon)):
        next_value = last_value if t == horizon - 1 else val[t + 1]
        alive = 1.0 - done[t]
        delta = rew[t] + gamma * next_value * alive - val[t]
        running = delta + gamma * lam * alive * running
        adv[t] = running
    return adv, adv + val


def ppo_update(model, opt, batch, adv, ret, args):
    flat = {k: v.flatten(0, 1) for k, v in batch.items()}
    adv, ret = adv.flatten(), ret.flatten()
    n = adv.numel()
    for _ in range(args.epochs):
        for idx in torch.randperm(n).split(n // 2):
            dist, value = model(flat["obs"][idx])
            a = adv[idx]
            a = (a - a.mean()) / (a.std() + 1e-8)
            ratio = (dist.log_prob(flat["act"][idx]) - flat["logp"][idx]).exp()
            policy_loss = -torch.min(ratio * a, ratio.clamp(1 - args.clip, 1 + args.clip) * a).mean()
            value_loss = 0.5 * (value - ret[idx]).pow(2).mean()
            loss = policy_loss + 0.5 * value_loss - args.ent_coef * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            opt.step()
    return loss.item(), value_loss.item()


@torch.no_grad()
def evaluate(model, seed, episodes=64, limit=30):
    envs = GridEnvs(episodes, seed)
    obs, alive, reached = envs.obs(), torch.ones(episodes), torch.zeros(episodes)
    for _ in range(limit):
        obs, reward, done = envs.step(model(obs)[0].sample())
        reached += alive * done * (reward > 0)
        alive *= 1.0 - done
    return reached.mean().item()


@torch.no_grad()
def critic_error(model, gamma, sweeps=60):
    """Mean distance between the critic and the values of the shortest safe paths."""
    value = {}
    cells = [(r, c) for r in range(GRID) for c in range(GRID) if (r, c) != GOAL and (r, c) not in PITS]
    for _ in range(sweeps):
        for r, c in cells:
            options = []
            for dr, dc in MOVES:
                nxt = (min(max(r + dr, 0), GRID - 1), min(max(c + dc, 0), GRID - 1))
                if nxt in cells:
                    options.append(-0.02 + gamma * value.get(nxt, 0.0))
                else:
                    options.append(1.0 if nxt == GOAL else -0.5)
            value[r, c] = max(options)
    learned = model(torch.eye(GRID * GRID))[1]
    return sum(abs(learned[r * GRID + c].item() - v) for (r, c), v in value.items()) / len(cells)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--lam", type=float, default=0.9)
    ap.add_argument("--clip", type=float, default=0.2)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--ent_coef", type=float, default=0.02)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    envs = GridEnvs(16, args.seed)
    model = ActorCritic()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    obs = envs.obs()
    for step in range(args.steps):
        batch, obs, last_value = collect(model, envs, obs, horizon=24)
        adv, ret = compute_gae(batch["rew"], batch["val"], batch["done"], last_value, args.gamma, args.lam)
        loss, value_loss = ppo_update(model, opt, batch, adv, ret, args)
        if step % 10 == 0 or step == args.steps - 1:
            goals = (batch["rew"] > 0.5).sum().item()
            print(f"update {step} loss {loss:.4f} value_loss {value_loss:.4f} goals {goals}")
    print(f"EVIDENCE goal_rate={evaluate(model, 900 + args.seed):.3f} critic_error={critic_error(model, args.gamma):.3f}")


if __name__ == "__main__":
    main()
