"""PPO which sends parcels to vans: vans which are out cannot be chosen."""

import argparse

import torch
from torch import nn
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=30, help="rollouts")
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)

VANS, ENVS, HORIZON, GAMMA, LAMBDA, CLIP = 8, 32, 24, 0.7, 0.9, 0.2


class Depot:
    """Every step each depot gets a parcel; a van takes as long as the parcel is far from its district."""

    def __init__(self):
        self.busy = torch.zeros(ENVS, VANS)
        self.district = torch.rand(ENVS, VANS)
        self.next_parcel()

    def next_parcel(self):
        self.parcel = torch.rand(ENVS, 1)

    def observe(self):
        state = torch.cat([self.busy / 8, (self.district - self.parcel).abs(), self.parcel], 1)
        allowed = self.busy < 1
        allowed[:, 0] |= ~allowed.any(1)
        return state, allowed

    def step(self, action):
        way = (self.district.gather(1, action[:, None]) - self.parcel).abs().squeeze(1)
        self.busy = (self.busy - 1).clamp(min=0)
        self.busy.scatter_(1, action[:, None], 5 + (4 * way).round()[:, None])
        over = torch.rand(ENVS) < 0.05
        self.busy[over] = 0
        self.district[over] = torch.rand(int(over.sum()), VANS)
        self.next_parcel()
        return -2 * way, over.float()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2 * VANS + 1, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh())
        self.actor, self.critic = nn.Linear(96, VANS), nn.Linear(96, 1)

    def forward(self, state, allowed=None):
        h = self.body(state)
        logits = self.actor(h)
        if allowed is not None:
            logits = logits.masked_fill(~allowed, -1e8)
        return Categorical(logits=logits), self.critic(h).squeeze(-1)


depot, agent = Depot(), Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
rewards_seen, drift = [], []
for rollout in range(args.steps):
    store = {name: [] for name in ("state", "allowed", "action", "logp", "value", "reward", "over")}
    with torch.no_grad():
        for _ in range(HORIZON):
            state, allowed = depot.observe()
            dist, value = agent(state, allowed)
            action = dist.sample()
            reward, over = depot.step(action)
            for name, item in zip(store, (state, allowed, action, dist.log_prob(action), value, reward, over)):
                store[name].append(item)
        _, last = agent(*depot.observe())
    data = {name: torch.stack(items) for name, items in store.items()}
    advantage, running = torch.zeros(HORIZON, ENVS), torch.zeros(ENVS)
    for t in reversed(range(HORIZON)):
        following = data["value"][t + 1] if t + 1 < HORIZON else last
        alive = 1 - data["over"][t]
        delta = data["reward"][t] + GAMMA * following * alive - data["value"][t]
        running = delta + GAMMA * LAMBDA * alive * running
        advantage[t] = running
    data["target"] = advantage + data["value"]
    data["advantage"] = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    flat = {name: item.flatten(0, 1) for name, item in data.items()}
    for epoch in range(4):
        for pick in torch.randperm(HORIZON * ENVS).split(192):
            mb = {name: item[pick] for name, item in flat.items()}
            dist, value = agent(mb["state"], mb["allowed"])
            ratio = (dist.log_prob(mb["action"]) - mb["logp"]).exp()
            if epoch == 0:
                drift.append((ratio - 1).abs().mean().item())
            gain = torch.min(ratio * mb["advantage"], ratio.clamp(1 - CLIP, 1 + CLIP) * mb["advantage"])
            loss = -gain.mean() + 0.5 * (value - mb["target"]).pow(2).mean() - 0.002 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    rewards_seen.append(data["reward"].mean().item())
    if (rollout + 1) % 10 == 0:
        print(f"rollout {rollout + 1} reward {rewards_seen[-1]:.3f} value loss {(value - mb['target']).pow(2).mean():.3f}")

print(
    f"EVIDENCE ratio off one in the first epoch by {sum(drift) / len(drift):.3f}, "
    f"reward {sum(rewards_seen[:5]) / 5:.3f} at first, {sum(rewards_seen[-5:]) / 5:.3f} at last"
)
