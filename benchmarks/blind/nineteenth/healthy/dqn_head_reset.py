"""DQN with a high replay ratio and planned resets of the last layer (against primacy bias)."""
import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

N = 5


class IceGrid:
    """5x5 grid, goal in the far corner, a pit in the middle; moves sometimes slip."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        while True:
            self.p = self.rng.integers(0, N, 2)
            if tuple(self.p) not in ((2, 2), (N - 1, N - 1)):
                break
        self.t = 0
        return self.p[0] * N + self.p[1]

    def step(self, a):
        self.t += 1
        if self.rng.random() < 0.1:
            a = int(self.rng.integers(4))
        self.p = np.clip(self.p + [(0, 1), (0, -1), (1, 0), (-1, 0)][a], 0, N - 1)
        s = self.p[0] * N + self.p[1]
        if s == N * N - 1:
            return s, 1.0, True, False
        if tuple(self.p) == (2, 2):
            return s, -1.0, True, False
        return s, -0.02, False, self.t >= 40


def build():
    return nn.Sequential(nn.Linear(N * N, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


def reset_head(q, target, opt):
    q[-1].reset_parameters()
    target[-1].load_state_dict(q[-1].state_dict())
    for p in q[-1].parameters():
        opt.state.pop(p, None)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=80, help="blocks of 30 environment steps")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    env, q = IceGrid(rng), build()
    target = copy.deepcopy(q).requires_grad_(False)
    opt = torch.optim.Adam(q.parameters(), lr=args.lr)
    eye, mem = torch.eye(N * N), []
    s = env.reset()
    for step in range(args.steps):
        # the loss jumps after a reset and comes back: that is wanted; none in the last third
        if step in (args.steps // 3, args.steps * 3 // 5):
            reset_head(q, target, opt)
        eps = max(0.1, 1 - step / (0.4 * args.steps))
        for _ in range(30):
            with torch.no_grad():
                a = int(rng.integers(4)) if rng.random() < eps else int(q(eye[s]).argmax())
            s2, r, dead, cut = env.step(a)
            mem.append((s, a, r, s2, float(dead)))     # a cut episode still bootstraps
            s = env.reset() if dead or cut else s2
        for _ in range(40):
            i = rng.integers(0, len(mem), 64)
            o, a, r, o2, d = (torch.as_tensor(np.array(c)) for c in zip(*(mem[j] for j in i)))
            with torch.no_grad():
                y = r.float() + 0.95 * (1 - d.float()) * target(eye[o2]).max(1).values
            loss = F.mse_loss(q(eye[o]).gather(1, a[:, None]).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for tp, p in zip(target.parameters(), q.parameters()):
                    tp.lerp_(p, 0.02)
        if step % 10 == 0 or step == args.steps - 1:
            print(f"block {step:3d} loss {loss.item():.5f} eps {eps:.2f}")
    test, score = IceGrid(np.random.default_rng(8)), 0.0
    for _ in range(100):
        s, dead, cut = test.reset(), False, False
        while not (dead or cut):
            with torch.no_grad():
                s, r, dead, cut = test.step(int(q(eye[s]).argmax()))
            score += r / 100
    print(f"EVIDENCE mean_return={score:.4f}")


if __name__ == "__main__":
    main()
