"""DQN with n-step returns on a corridor: a small reward near by, a larger one far away."""
import argparse
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE = 12
START = 3
NEAR, FAR = 1.0, 2.0


class Corridor:
    """Cells 0..SIZE-1. The left end pays NEAR, the right end pays FAR, both end the episode."""

    def reset(self, start=START):
        self.cell = start
        self.t = 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.cell), SIZE).float()

    def step(self, action):
        self.cell += 1 if action == 1 else -1
        self.t += 1
        if self.cell <= 0:
            return self.obs(), NEAR, True
        if self.cell >= SIZE - 1:
            return self.obs(), FAR, True
        return self.obs(), 0.0, False


class NStepBuffer:
    def __init__(self, capacity, n_step, gamma):
        self.data = deque(maxlen=capacity)
        self.n_step, self.gamma = n_step, gamma
        self.window = deque()

    def push(self, obs, action, reward, next_obs, done):
        self.window.append((obs, action, reward))
        if len(self.window) == self.n_step:
            self._flush_one(next_obs, done)
        if done:
            while self.window:
                self._flush_one(next_obs, done)

    def _flush_one(self, next_obs, done):
        ret = sum(self.gamma ** k * r for k, (_, _, r) in enumerate(self.window))
        obs, action, _ = self.window.popleft()
        self.data.append((obs, action, ret, next_obs, float(done)))

    def sample(self, size, rng):
        rows = rng.sample(self.data, size)
        obs, action, ret, next_obs, done = zip(*rows)
        return torch.stack(obs), torch.tensor(action), torch.tensor(ret), torch.stack(next_obs), torch.tensor(done)


def q_network():
    return nn.Sequential(nn.Linear(SIZE, 64), nn.ReLU(), nn.Linear(64, 2))


def exact_q(gamma, sweeps=200):
    value = torch.zeros(SIZE)
    q = torch.zeros(SIZE, 2)
    for _ in range(sweeps):
        for s in range(1, SIZE - 1):
            q[s, 0] = NEAR if s == 1 else gamma * value[s - 1]
            q[s, 1] = FAR if s == SIZE - 2 else gamma * value[s + 1]
            value[s] = q[s].max()
    return q


def td_loss(online, target, batch, gamma, n_step):
    obs, action, ret, next_obs, done = batch
    q = online(obs).gather(1, action.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = online(next_obs).argmax(1, keepdim=True)
        next_q = target(next_obs).gather(1, best).squeeze(1)
        backup = ret + gamma ** n_step * (1.0 - done) * next_q
    return F.smooth_l1_loss(q, backup)


@torch.no_grad()
def greedy_return(net, gamma):
    env = Corridor()
    obs, total = env.reset(), 0.0
    for t in range(40):
        obs, reward, done = env.step(net(obs).argmax().item())
        total += gamma ** t * reward
        if done:
            break
    return total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--gamma", type=float, default=0.8)
    ap.add_argument("--n_step", type=int, default=3)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)

    online, target = q_network(), q_network()
    target.load_state_dict(online.state_dict())
    opt = torch.optim.Adam(online.parameters(), lr=args.lr)
    buffer = NStepBuffer(1500, args.n_step, args.gamma)
    env = Corridor()

    for step in range(args.steps):
        epsilon = max(0.05, 1.0 - step / (0.6 * args.steps))
        for _ in range(4):
            obs, done = env.reset(rng.randrange(1, SIZE - 1)), False
            while not done and env.t < 30:
                with torch.no_grad():
                    greedy = online(obs).argmax().item()
                action = rng.randrange(2) if rng.random() < epsilon else greedy
                next_obs, reward, done = env.step(action)
                buffer.push(obs, action, reward, next_obs, done)
                obs = next_obs
            buffer.window.clear()
        if len(buffer.data) < 64:
            continue
        for _ in range(8):
            loss = td_loss(online, target, buffer.sample(64, rng), args.gamma, args.n_step)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(online.parameters(), 10.0)
            opt.step()
        if step % 4 == 0:
            target.load_state_dict(online.state_dict())
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.4f} epsilon {epsilon:.2f}")

    q_true = exact_q(args.gamma)
    with torch.no_grad():
        q_learned = online(torch.eye(SIZE))
    error = (q_learned - q_true)[1:SIZE - 1].abs().mean().item()
    print(f"EVIDENCE discounted_return={greedy_return(online, args.gamma):.3f} q_error={error:.3f}")


if __name__ == "__main__":
    main()
