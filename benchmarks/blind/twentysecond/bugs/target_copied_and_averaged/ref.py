"""Double DQN on a board of lamps; the target network follows by averaging."""
import argparse
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

LAMPS, GAMMA = 6, 0.9


class Board:
    """Pressing a lamp turns it and the next one. Done when all are off, cut after fifteen moves."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.state = [self.rng.randrange(2) for _ in range(LAMPS)]
        self.state[self.rng.randrange(LAMPS)] = 1
        self.moves = 0
        return self.observe()

    def observe(self):
        return torch.tensor(self.state, dtype=torch.float32)

    def step(self, lamp):
        for k in (lamp, (lamp + 1) % LAMPS) if lamp % 2 else (lamp,):
            self.state[k] ^= 1
        self.moves += 1
        solved = sum(self.state) == 0
        return self.observe(), (1.0 if solved else -0.05), solved, self.moves >= 15


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LAMPS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.value, self.advantage = nn.Linear(64, 1), nn.Linear(64, LAMPS)

    def forward(self, x):
        h = self.body(x)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(1, keepdim=True)


class TargetKeeper:
    """Either follows by averaging (tau > 0), or is copied every so many updates (tau = 0)."""

    def __init__(self, online, tau, every):
        self.online, self.tau, self.every, self.count = online, tau, every, 0
        self.net = copy.deepcopy(online).requires_grad_(False)
        self.slow = list(self.net.parameters())

    @torch.no_grad()
    def update(self):
        self.count += 1
        if self.tau > 0:
            for slow, fast in zip(self.slow, self.online.parameters()):
                slow.lerp_(fast, self.tau)
        elif self.count % self.every == 0:
            self.net.load_state_dict(self.online.state_dict())

    @torch.no_grad()
    def lag(self):
        return sum((a - b).pow(2).sum() for a, b in zip(self.net.parameters(), self.online.parameters())).sqrt().item()


def td_loss(online, target, batch):
    obs, action, reward, next_obs, ended = batch
    q = online(obs).gather(1, action[:, None]).squeeze(1)
    with torch.no_grad():
        best = online(next_obs).argmax(1, keepdim=True)
        goal = reward + GAMMA * (1 - ended) * target(next_obs).gather(1, best).squeeze(1)
    return F.smooth_l1_loss(q, goal)


def play(net, rng, games=60):
    solved, board = 0, Board(rng)
    for _ in range(games):
        obs, over = board.reset(), False
        while not over:
            with torch.no_grad():
                obs, _, done, cut = board.step(net(obs[None]).argmax(1).item())
            over = done or cut
            solved += done
    return solved / games


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=900)
    ap.add_argument("--tau", type=float, default=0.01)
    ap.add_argument("--target-every", type=int, default=25)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    board, online = Board(rng), QNet()
    keeper = TargetKeeper(online, args.tau, args.target_every)
    optimizer = torch.optim.Adam(online.parameters(), lr=args.lr)
    memory, obs, lag, updates = [], board.reset(), 0.0, 0
    for step in range(args.steps):
        explore = rng.random() < max(0.1, 1 - step / (0.6 * args.steps))
        action = rng.randrange(LAMPS) if explore else online(obs[None]).argmax(1).item()
        next_obs, reward, done, cut = board.step(action)
        memory.append((obs, action, reward, next_obs, float(done)))
        obs = board.reset() if done or cut else next_obs
        if len(memory) < 64:
            continue
        rows = rng.sample(memory, 32)
        batch = (torch.stack([r[0] for r in rows]), torch.tensor([r[1] for r in rows]), torch.tensor([r[2] for r in rows]),
                 torch.stack([r[3] for r in rows]), torch.tensor([r[4] for r in rows]))
        loss = td_loss(online, keeper.net, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keeper.update()
        lag, updates = lag + keeper.lag(), updates + 1
        if step % 300 == 299:
            print(f"step {step + 1} loss {loss.item():.4f} lag {keeper.lag():.3f}")
    print(f"EVIDENCE mean_lag={lag / max(updates, 1):.4f} q_start={online(obs[None]).max().item():.3f} "
          f"solved={play(online, random.Random(3)):.3f}")


if __name__ == "__main__":
    main()
