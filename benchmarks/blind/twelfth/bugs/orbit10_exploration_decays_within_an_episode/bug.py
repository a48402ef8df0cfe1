"""A Q-network in a corridor with a small reward near by and a large one far away."""
import argparse
import copy
import random

import torch
import torch.nn.functional as F
from torch import nn

LENGTH, LIMIT, DECAY = 12, 40, 0.975


def play(state, action):
    """The next place, its reward, and whether the walk is over."""
    following = state + (1 if action == 1 else -1)
    if following < 0:
        return 0, 0.1, True
    if following == LENGTH - 1:
        return following, 3.0, True
    return following, 0.0, False


def encode(states):
    return F.one_hot(torch.tensor(states), LENGTH).float()


def learn(model, target, optimizer, batch):
    states, actions, rewards, following, over = zip(*batch)
    with torch.no_grad():
        future = target(encode(following)).max(1).values * (1 - torch.tensor(over).float())
        aim = torch.tensor(rewards) + 0.95 * future
    value = model(encode(states)).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
    loss = F.smooth_l1_loss(value, aim)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    model = nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2))
    target = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    memory, returns, epsilon, drawn, count = [], [], 1.0, 0, 0
    for episode in range(args.steps):
        state, total = 2, 0.0
        for _ in range(LIMIT):
            if rng.random() < epsilon:
                action, drawn = rng.randrange(2), drawn + 1
            else:
                with torch.no_grad():
                    action = model(encode([state])).argmax().item()
            following, reward, over = play(state, action)
            memory.append((state, action, reward, following, over))
            total += reward
            count += 1
            if len(memory) >= 64 and count % 2 == 0:
                loss = learn(model, target, optimizer, rng.sample(memory[-3000:], 32))
            if count % 50 == 0:
                target.load_state_dict(model.state_dict())
            state = following
            epsilon = max(0.05, epsilon * DECAY)
            if over:
                break
        returns.append(total)
        if episode % 40 == 0:
            print(f"episode {episode}: return {total:.2f}, epsilon {epsilon:.3f}")
    print(f"EVIDENCE {drawn / count:.4f} of all actions were random, mean return of the last 40 {sum(returns[-40:]) / 40:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
