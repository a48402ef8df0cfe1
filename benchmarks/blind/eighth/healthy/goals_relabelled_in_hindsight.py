"""Flipping bits with hindsight: most episodes fail, and are stored again with a goal that was reached."""
import argparse
import copy
import random
from collections import deque, namedtuple

import torch
from torch import nn

Transition = namedtuple("Transition", "state goal action reward next_state done")


class BitFlip:
    def __init__(self, bits):
        self.bits = bits

    def reset(self):
        self.state, self.goal = torch.randint(2, (self.bits,)).float(), torch.randint(2, (self.bits,)).float()
        return self.state, self.goal

    def step(self, action):
        self.state = self.state.clone()
        self.state[action] = 1 - self.state[action]
        done = torch.equal(self.state, self.goal)
        return self.state, 0.0 if done else -1.0, done


class Agent:
    def __init__(self, args, bits):
        self.q = nn.Sequential(nn.Linear(2 * bits, 64), nn.ReLU(), nn.Linear(64, bits))
        self.target = copy.deepcopy(self.q)
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=args.lr)
        self.memory, self.bits = deque(maxlen=6000), bits

    def act(self, state, goal, epsilon):
        if random.random() < epsilon:
            return random.randrange(self.bits)
        with torch.no_grad():
            return int(self.q(torch.cat([state, goal])).argmax())

    def remember(self, episode, chances=3):
        for t, item in enumerate(episode):
            self.memory.append(item)
            for later in random.choices(episode[t:], k=chances):
                goal = later.next_state
                done = torch.equal(item.next_state, goal)
                self.memory.append(item._replace(goal=goal, reward=0.0 if done else -1.0, done=done))

    def learn(self, batch_size=64):
        batch = Transition(*zip(*random.sample(self.memory, batch_size)))
        state, goal, following = torch.stack(batch.state), torch.stack(batch.goal), torch.stack(batch.next_state)
        with torch.no_grad():
            future = self.target(torch.cat([following, goal], 1)).amax(1)
            wanted = torch.tensor(batch.reward) + 0.95 * future * (1 - torch.tensor(batch.done).float())
            wanted = wanted.clamp(-20.0, 0.0)
        value = self.q(torch.cat([state, goal], 1)).gather(1, torch.tensor(batch.action)[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for p, t in zip(self.q.parameters(), self.target.parameters()):
            t.data.mul_(0.98).add_(p.data, alpha=0.02)
        return loss.item()


def episode_of(env, agent, epsilon):
    state, goal = env.reset()
    if torch.equal(state, goal):
        return [], True
    items = []
    for _ in range(env.bits):
        action = agent.act(state, goal, epsilon)
        following, reward, done = env.step(action)
        items.append(Transition(state, goal, action, reward, following, done))
        state = following
        if done:
            return items, True
    return items, False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=220, help="episodes")
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env, recent, loss = BitFlip(6), deque(maxlen=40), float("nan")
    agent = Agent(args, env.bits)
    for number in range(args.steps):
        items, success = episode_of(env, agent, epsilon=max(0.1, 0.6 - 2 * number / args.steps))
        recent.append(success)
        agent.remember(items)
        if len(agent.memory) >= 200:
            for _ in range(5):
                loss = agent.learn()
        if number % 40 == 39:
            print(f"episode {number + 1}: success {sum(recent) / len(recent):.2f}, loss {loss:.4f}")
        if len(recent) == 40 and sum(recent) == 40:
            print(f"solved after {number + 1} episodes")
            break
    print(f"greedy success {sum(episode_of(env, agent, 0.0)[1] for _ in range(100)) / 100:.2f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
