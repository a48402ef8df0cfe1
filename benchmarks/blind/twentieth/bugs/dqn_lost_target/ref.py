"""DQN for a vacuum robot on a grid, with a softly updated target network and a save of the agent."""
import argparse
import copy

import torch
from torch import nn
import torch.nn.functional as F

SIDE = 5
MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


class Room:
    """The dock is in one corner; a move costs a little, docking pays 1 and ends the run."""

    def __init__(self, gen, n=16):
        self.gen, self.n = gen, n
        self.pos = self.fresh()

    def fresh(self):
        return torch.randint(SIDE, (self.n, 2), generator=self.gen)

    @staticmethod
    def encode(pos):
        return torch.cat([F.one_hot(pos[:, 0], SIDE), F.one_hot(pos[:, 1], SIDE)], 1).float()

    def step(self, action):
        nxt = (self.pos + MOVES[action]).clamp(0, SIDE - 1)
        docked = (nxt == SIDE - 1).all(1)
        reward = torch.where(docked, 1.0, -0.02)
        stray = torch.rand(self.n, generator=self.gen) < 0.02
        self.pos = torch.where((docked | stray)[:, None], self.fresh(), nxt)
        return nxt, reward, docked


class Agent:
    def __init__(self, lr, tau=0.02, gamma=0.95):
        self.tau, self.gamma = tau, gamma
        self.online = nn.Sequential(nn.Linear(2 * SIDE, 64), nn.ReLU(), nn.Linear(64, len(MOVES)))
        self.target = nn.Sequential(nn.Linear(2 * SIDE, 64), nn.ReLU(), nn.Linear(64, len(MOVES)))
        self.share_weights()
        self.pairs = list(zip(self.target.parameters(), self.online.parameters()))
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=lr)

    def share_weights(self):
        """Starts the target as an exact copy without gradients."""
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    @torch.no_grad()
    def soft_update(self):
        for target, online in self.pairs:
            target.lerp_(online, self.tau)

    @torch.no_grad()
    def act(self, obs, epsilon, gen):
        greedy = self.online(obs).argmax(1)
        other = torch.randint(len(MOVES), greedy.shape, generator=gen)
        return torch.where(torch.rand(len(obs), generator=gen) < epsilon, other, greedy)

    def learn(self, obs, action, reward, next_obs, done):
        with torch.no_grad():
            best = self.target(next_obs).max(1).values
            goal = reward + self.gamma * (1 - done) * best
        q = self.online(obs).gather(1, action[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.soft_update()
        return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=900)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    room = Room(gen)
    agent = Agent(args.lr)
    memory, gained = [], []
    for step in range(args.steps):
        epsilon = max(0.05, 1 - step / (0.5 * args.steps))
        obs = Room.encode(room.pos)
        action = agent.act(obs, epsilon, gen)
        nxt, reward, docked = room.step(action)
        memory = (memory + [(obs, action, reward, Room.encode(nxt), docked.float())])[-500:]
        gained = (gained + [docked.float().mean().item()])[-200:]
        picks = torch.randint(len(memory), (4,), generator=gen).tolist()
        batch = [torch.cat(column) for column in zip(*(memory[i] for i in picks))]
        loss = agent.learn(*batch)
        if step % 300 == 0:
            print(f"step {step} loss {loss:.4f} docked per move {sum(gained) / len(gained):.3f}")
    every = torch.cartesian_prod(torch.arange(SIDE), torch.arange(SIDE))[:-1]
    with torch.no_grad():
        lag = (agent.online(Room.encode(every)) - agent.target(Room.encode(every))).abs().mean().item()
    distance = (2 * (SIDE - 1) - every.sum(1)).float()
    truth = 0.95 ** (distance - 1)
    got = agent.online(Room.encode(every)).max(1).values.detach()
    print(f"EVIDENCE target_lag={lag:.3f} value_error={(got - truth).abs().mean():.3f} docked={sum(gained) / len(gained):.3f}")


if __name__ == "__main__":
    main()
