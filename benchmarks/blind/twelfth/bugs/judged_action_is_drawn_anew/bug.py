"""A policy gradient on many small worlds at once: walkers look for the place with the reward."""
import argparse

import torch
from torch import nn
from torch.distributions import Categorical

WORLDS, STEPS, SIZE = 32, 10, 5


def observe(places, goals):
    return torch.cat([places, goals, goals - places], 1).float() / SIZE


def roll_out(model, generator):
    places = torch.randint(0, SIZE, (WORLDS, 2), generator=generator)
    goals = torch.randint(0, SIZE, (WORLDS, 2), generator=generator)
    moves = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])
    seen, taken, gained = [], [], []
    for _ in range(STEPS):
        state = observe(places, goals)
        with torch.no_grad():
            action = Categorical(logits=model(state)).sample()
        before = (places - goals).abs().sum(1)
        places = (places + moves[action]).clamp(0, SIZE - 1)
        gained.append((before - (places - goals).abs().sum(1)).float() - 0.1)
        seen.append(state)
        taken.append(action)
    return torch.stack(seen), torch.stack(taken), torch.stack(gained)


def returns_of(rewards, gamma=0.9):
    total, out = torch.zeros(WORLDS), []
    for reward in rewards.flip(0):
        total = reward + gamma * total
        out.append(total)
    return torch.stack(out[::-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    history = []
    for step in range(args.steps):
        states, actions, rewards = roll_out(model, generator)
        advantages = returns_of(rewards)
        advantages = ((advantages - advantages.mean()) / (advantages.std() + 1e-8)).flatten()
        policy = Categorical(logits=model(states.flatten(0, 1)))
        log_probs = policy.log_prob(policy.sample())
        loss = -(log_probs * advantages).mean() - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(rewards.sum(0).mean().item())
        if step % 40 == 0:
            print(f"step {step}: loss {loss.item():.4f}, return {history[-1]:.4f}")
    print(f"EVIDENCE mean return of the last 20 {sum(history[-20:]) / 20:.4f}, entropy {policy.entropy().mean().item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
