"""DQN from pixels on a small vectorised maze; soft-updated target network, replay memory."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE, ACTIONS = 6, 4
MOVES = torch.tensor([[-1, 0], [1, 0], [0, -1], [0, 1]])


class MazeVec:
    """n mazes side by side: walk from a random cell to the goal at (5, 5), around a wall, at most 30 moves."""

    def __init__(self, n):
        self.n = n
        self.wall = torch.zeros(SIZE, SIZE, dtype=torch.bool)
        self.wall[3, 1:5] = True
        self.pos = torch.zeros(n, 2, dtype=torch.long)
        self.age = torch.zeros(n, dtype=torch.long)
        self.reset(torch.ones(n, dtype=torch.bool))

    def reset(self, which):
        free = (~self.wall).nonzero()
        free = free[(free != SIZE - 1).any(1)]
        self.pos[which] = free[torch.randint(len(free), (int(which.sum()),))]
        self.age[which] = 0

    def observe(self):
        obs = torch.zeros(self.n, 3, SIZE, SIZE)
        obs[torch.arange(self.n), 0, self.pos[:, 0], self.pos[:, 1]] = 1.0
        obs[:, 1] = self.wall.float()
        obs[:, 2, SIZE - 1, SIZE - 1] = 1.0
        return obs

    def step(self, action):
        new = (self.pos + MOVES[action]).clamp(0, SIZE - 1)
        blocked = self.wall[new[:, 0], new[:, 1]]
        self.pos = torch.where(blocked.unsqueeze(1), self.pos, new)
        self.age += 1
        terminal = (self.pos == SIZE - 1).all(1)
        reward = terminal.float() - 0.01
        return self.observe(), reward, terminal, terminal | (self.age >= 30)


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Flatten(),
                                  nn.Linear(16 * SIZE * SIZE, 64), nn.ReLU())
        self.value = nn.Linear(64, 1)
        self.advantage = nn.Linear(64, ACTIONS)

    def forward(self, obs):
        h = self.body(obs)
        adv = self.advantage(h)
        return self.value(h) + adv - adv.mean(1, keepdim=True)


class Replay:
    def __init__(self, capacity):
        self.capacity, self.items, self.cursor = capacity, [], 0

    def push(self, *columns):
        for row in zip(*columns):
            if len(self.items) < self.capacity:
                self.items.append(row)
            else:
                self.items[self.cursor] = row
                self.cursor = (self.cursor + 1) % self.capacity

    def sample(self, n):
        rows = [self.items[i] for i in torch.randint(len(self.items), (n,)).tolist()]
        return [torch.stack(col) for col in zip(*rows)]


@torch.no_grad()
def soft_update(local_model, target_model, tau):
    for local, target in zip(local_model.parameters(), target_model.parameters()):
        target.copy_(tau * local + (1.0 - tau) * target)


def td_loss(qnet, target_net, batch, gamma):
    obs, action, reward, nxt, terminal = batch
    q = qnet(obs).gather(1, action.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = qnet(nxt).argmax(1, keepdim=True)
        backup = target_net(nxt).gather(1, best).squeeze(1)
        goal = reward + gamma * backup * (~terminal).float()
    return F.smooth_l1_loss(q, goal)


@torch.no_grad()
def greedy_success(qnet, n=100):
    env = MazeVec(n)
    solved = torch.zeros(n, dtype=torch.bool)
    for _ in range(20):
        _, _, terminal, _ = env.step(qnet(env.observe()).argmax(1))
        solved |= terminal
        env.pos[solved] = 0
    return solved.float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=600)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    env, memory = MazeVec(8), Replay(5000)
    qnet = QNet()
    target_net = copy.deepcopy(qnet)
    for p in target_net.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.Adam(qnet.parameters(), lr=args.lr)
    gamma, tau, mean_loss = 0.95, 0.02, 0.0
    obs = env.observe()
    for step in range(1, args.steps + 1):
        epsilon = max(0.1, 1.0 - step / (0.5 * args.steps))
        with torch.no_grad():
            action = qnet(obs).argmax(1)
        explore = torch.rand(env.n) < epsilon
        action = torch.where(explore, torch.randint(ACTIONS, (env.n,)), action)
        nxt, reward, terminal, over = env.step(action)
        memory.push(obs, action, reward, nxt, terminal)
        env.reset(over)
        obs = env.observe()

        loss = td_loss(qnet, target_net, memory.sample(64), gamma)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(qnet.parameters(), 10.0)
        optimizer.step()
        soft_update(qnet, target_net, tau)
        mean_loss = 0.98 * mean_loss + 0.02 * loss.item()
        if step % 150 == 0:
            print(f"step {step} eps {epsilon:.2f} td {mean_loss:.5f} success {greedy_success(qnet):.2f}")

    q_mean = qnet(env.observe()).max(1).values.mean().item()
    print(f"EVIDENCE success={greedy_success(qnet):.3f} mean_max_q={q_mean:.3f}")


if __name__ == "__main__":
    main()
