"""Advantage actor-critic on a ring of states; rollouts are cut after a fixed number of steps."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

STATES, MAX_STEPS = 8, 20


class Ring:
    """Each step clockwise (action 1) is worth about one; a step back is worth nothing and may end the episode."""

    def __init__(self, gen):
        self.gen, self.state = gen, 0

    def reset(self):
        self.state = int(torch.randint(1, STATES, (1,), generator=self.gen))
        return self.state

    def step(self, action):
        self.state = (self.state + (1 if action == 1 else -1)) % STATES
        reward = (1.0 if action == 1 else 0.0) + 0.2 * float(torch.randn(1, generator=self.gen))
        done = action == 0 and float(torch.rand(1, generator=self.gen)) < 0.1
        return self.state, reward, done


class Agent(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(STATES, width), nn.Tanh())
        self.pi, self.v = nn.Linear(width, 2), nn.Linear(width, 1)

    def features(self, states):
        return self.body(F.one_hot(torch.as_tensor(states), STATES).float())

    def dist(self, states):
        return torch.distributions.Categorical(logits=self.pi(self.features(states)))

    def value(self, states):
        return self.v(self.features(states)).squeeze(-1)


@torch.no_grad()
def rollout(agent, env):
    traj, state = [], env.reset()
    for _ in range(MAX_STEPS):
        action = agent.dist(state).sample().item()
        next_state, reward, done = env.step(action)
        traj.append({"s": state, "a": action, "r": reward, "v": agent.value(state).item(), "done": done})
        state = next_state
        if done:
            break
    last_value = 0.0 if traj[-1]["done"] else agent.value(state).item()
    return traj, last_value


def gae_advantages(traj, last_value, gamma, lam):
    advantages, gae, next_v = [0.0] * len(traj), 0.0, last_value
    for t in reversed(range(len(traj))):
        delta = traj[t]["r"] + gamma * next_v - traj[t]["v"]
        gae = delta + gamma * lam * gae
        advantages[t], next_v = gae, traj[t]["v"]
    returns = [a + step["v"] for a, step in zip(advantages, traj)]
    return advantages, returns


def update(agent, optimizer, batch):
    states, actions, advantages, returns = [torch.tensor(x) for x in batch]
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
    for _ in range(6):
        dist = agent.dist(states)
        value_loss = F.mse_loss(agent.value(states), returns)
        loss = -(dist.log_prob(actions) * advantages).mean() * (1 / 6) + 0.5 * value_loss - 0.003 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return value_loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--gamma", type=float, default=0.9)
    parser.add_argument("--lam", type=float, default=0.95)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    env, agent = Ring(torch.Generator().manual_seed(args.seed)), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr)
    for step in range(args.steps):
        batch = [[], [], [], []]
        for _ in range(6):
            traj, last_value = rollout(agent, env)
            advantages, returns = gae_advantages(traj, last_value, args.gamma, args.lam)
            for column, values in zip(batch, ([x["s"] for x in traj], [x["a"] for x in traj], advantages, returns)):
                column.extend(values)
        value_loss = update(agent, optimizer, batch)
        if step % 8 == 0:
            print(f"step {step} value_loss {value_loss:.4f} clockwise {sum(batch[1]) / len(batch[1]):.2f}")
    # a walk that only goes clockwise is worth 1 / (1 - gamma) in each state
    with torch.no_grad():
        value = agent.value(torch.arange(STATES)).mean().item()
    print(f"EVIDENCE value={value:.4f} true_value={1 / (1 - args.gamma):.4f} value_loss={value_loss:.4f}")


if __name__ == "__main__":
    main()
