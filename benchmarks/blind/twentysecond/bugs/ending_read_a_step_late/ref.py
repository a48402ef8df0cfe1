"""Recurrent PPO in a corridor: the cue is shown in the first step only, the door is chosen in the last."""
import argparse

import torch
import torch.nn as nn

ENVS, HORIZON, GAMMA, LAMBDA = 16, 24, 0.97, 0.95


class Corridors:
    """Batch of corridors of three to six steps. A new episode begins within step()."""

    def __init__(self, gen):
        self.gen = gen
        self.cue, self.length, self.at = (torch.zeros(ENVS, dtype=torch.long) for _ in range(3))
        self.begin(torch.ones(ENVS, dtype=torch.bool))

    def begin(self, which):
        n = int(which.sum())
        self.cue[which] = torch.randint(0, 2, (n,), generator=self.gen)
        self.length[which] = torch.randint(3, 7, (n,), generator=self.gen)
        self.at[which] = 0

    def observe(self):
        first = (self.at == 0).float()
        last = (self.at == self.length - 1).float()
        return torch.stack([first * (self.cue == 0), first * (self.cue == 1), last, torch.ones(ENVS)], dim=1)

    def step(self, action):
        last = self.at == self.length - 1
        reward = torch.where(last, (action == self.cue).float() * 2 - 1, -0.05 * (action == 2).float())
        self.at += 1
        self.begin(last)
        return self.observe(), reward, last


class Agent(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.width = width
        self.enc, self.cell = nn.Linear(4, width), nn.GRUCell(width, width)
        self.actor, self.critic = nn.Linear(width, 3), nn.Linear(width, 1)

    def forward(self, obs, memory, begins):
        """Memory is cleared where an episode begins with this observation."""
        memory = self.cell(torch.tanh(self.enc(obs)), memory * (1 - begins.float())[:, None])
        return torch.distributions.Categorical(logits=self.actor(memory)), self.critic(memory).squeeze(1), memory


@torch.no_grad()
def collect(agent, envs, obs, begins, memory):
    keep = {k: [] for k in ("obs", "begins", "dones", "actions", "logps", "values", "rewards")}
    start_memory = memory
    for _ in range(HORIZON):
        dist, value, memory = agent(obs, memory, begins)
        action = dist.sample()
        next_obs, reward, done = envs.step(action)
        for name, x in (("obs", obs), ("begins", begins), ("actions", action), ("logps", dist.log_prob(action)),
                        ("values", value), ("rewards", reward), ("dones", done)):
            keep[name].append(x)
        obs, begins = next_obs, done
    _, last_value, _ = agent(obs, memory, begins)
    batch = {name: torch.stack(x) for name, x in keep.items()}
    return batch, last_value, (obs, begins, memory), start_memory


def gae(batch, last_value):
    """dones[t] says that step t ended the episode: nothing of t + 1 counts for it."""
    advantages, running = torch.zeros_like(batch["rewards"]), torch.zeros(ENVS)
    next_value = last_value
    for t in reversed(range(HORIZON)):
        alive = 1 - batch["dones"][t].float()
        delta = batch["rewards"][t] + GAMMA * next_value * alive - batch["values"][t]
        running = delta + GAMMA * LAMBDA * alive * running
        advantages[t], next_value = running, batch["values"][t]
    return advantages, advantages + batch["values"]


def replay(agent, batch, memory):
    logps, values, entropy = [], [], 0.0
    for t in range(HORIZON):
        dist, value, memory = agent(batch["obs"][t], memory, batch["begins"][t])
        logps.append(dist.log_prob(batch["actions"][t]))
        values.append(value)
        entropy = entropy + dist.entropy().mean() / HORIZON
    return torch.stack(logps), torch.stack(values), entropy


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=6e-3)
    ap.add_argument("--steps", type=int, default=40)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    envs, agent = Corridors(torch.Generator().manual_seed(args.seed + 5)), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    state = (envs.observe(), torch.ones(ENVS, dtype=torch.bool), torch.zeros(ENVS, agent.width))
    first_ratio, ends, score = 0.0, 0.0, []
    for update in range(args.steps):
        batch, last_value, state, memory = collect(agent, envs, *state)
        advantages, returns = gae(batch, last_value)
        failed = batch["dones"] & (batch["rewards"] < -0.5)
        ends += (advantages * failed).sum().item() / failed.sum().clamp(min=1).item() / args.steps
        normal = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        for epoch in range(3):
            logps, values, entropy = replay(agent, batch, memory)
            ratio = (logps - batch["logps"]).exp()
            if epoch == 0:
                first_ratio += (ratio - 1).abs().mean().item() / args.steps
            gain = torch.minimum(ratio * normal, ratio.clamp(0.8, 1.2) * normal).mean()
            loss = -gain + 0.5 * (values - returns).pow(2).mean() - 0.01 * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
        score.append(batch["rewards"][batch["dones"]].mean().item())
        if update % 10 == 9:
            print(f"update {update + 1} door {score[-1]:.3f}")
    print(f"EVIDENCE first_ratio_off={first_ratio:.5f} advantage_of_failure={ends:.3f} door={sum(score[-5:]) / 5:.3f}")


if __name__ == "__main__":
    main()
