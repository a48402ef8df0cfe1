"""DQN with resets: now and then the last layer of network and target is drawn anew and its moments are thrown away, the replay stays."""
import argparse
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

CELLS = 9


class Corridor:
    def __init__(self, rng):
        self.rng = rng
        self.reset()

    def reset(self):
        self.at, self.t = self.rng.randrange(CELLS - 1), 0
        return self.at

    def step(self, action):
        move = 1 if action == 1 else -1
        if self.rng.random() < 0.1:
            move = -move
        self.at, self.t = min(max(self.at + move, 0), CELLS - 1), self.t + 1
        return self.at, float(self.at == CELLS - 1), self.at == CELLS - 1


def reset_last(net, target, optimizer):
    net[-1].reset_parameters()
    target.load_state_dict(net.state_dict())
    for p in net[-1].parameters():
        optimizer.state.pop(p, None)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=600)
    ap.add_argument("--reset-every", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    env = Corridor(rng)
    net = nn.Sequential(nn.Embedding(CELLS, 24), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 2))
    target = copy.deepcopy(net).requires_grad_(False)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    replay, obs, reached = [], env.reset(), 0
    for step in range(1, args.steps + 1):
        action = rng.randrange(2) if rng.random() < 0.15 else int(net(torch.tensor(obs)).argmax())
        nxt, reward, done = env.step(action)
        replay.append((obs, action, reward, nxt, float(done)))
        obs = env.reset() if done or env.t > 30 else nxt
        reached += done
        if step < 32:
            continue
        o, a, r, n, d = (torch.tensor(x) for x in zip(*rng.sample(replay, 32)))
        goal = r + 0.9 * (1 - d) * target(n).amax(1)
        loss = F.smooth_l1_loss(net(o).gather(1, a[:, None]).squeeze(1), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for t, p in zip(target.parameters(), net.parameters()):
                t.lerp_(p, 0.05)
        if step % args.reset_every == 0 and step < args.steps:
            reset_last(net, target, optimizer)
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.5f} reached {reached}")
    print(f"RESULT reached={reached}")


if __name__ == "__main__":
    main()
