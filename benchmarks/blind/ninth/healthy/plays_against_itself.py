"""A network plays Nim against itself with a small tree search; a challenger must win to stay."""

import argparse
import collections
import copy
import math

import numpy as np
import torch
from torch import nn

HEAPS, LARGEST = 3, 5
MOVES = [(heap, take) for heap in range(HEAPS) for take in range(1, 4)]


def legal(state):
    return np.array([state[heap] >= take for heap, take in MOVES])


def play(state, move):
    heap, take = MOVES[move]
    return tuple(n - take * (i == heap) for i, n in enumerate(state))


def encode(states):
    planes = torch.zeros(len(states), HEAPS, LARGEST + 1)
    planes.scatter_(2, torch.tensor(states)[..., None], 1.0)
    return planes.flatten(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(HEAPS * (LARGEST + 1), 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.policy, self.value = nn.Linear(64, len(MOVES)), nn.Linear(64, 1)

    def forward(self, x):
        hidden = self.body(x)
        return self.policy(hidden), self.value(hidden).squeeze(-1).tanh()

    @torch.no_grad()
    def ask(self, state):
        logits, value = self(encode([state]))
        logits[0, ~torch.from_numpy(legal(state))] = -math.inf
        return logits[0].softmax(0).numpy(), value.item()


class Search:
    def __init__(self, net, rng, rounds):
        self.net, self.rng, self.rounds, self.cache = net, rng, rounds, {}

    def visit(self, state):
        if sum(state) == 0:
            return -1.0  # the other one took the last
        if state not in self.cache:
            prior, value = self.net.ask(state)
            self.cache[state] = [prior, np.zeros(len(MOVES)), np.zeros(len(MOVES))]
            return value
        prior, count, total = self.cache[state]
        score = total / np.maximum(count, 1) + 1.5 * prior * math.sqrt(count.sum() + 1) / (1 + count)
        move = int(np.where(legal(state), score, -np.inf).argmax())
        value = -self.visit(play(state, move))
        count[move] += 1
        total[move] += value
        return value

    def policy(self, state):
        for _ in range(self.rounds):
            self.visit(state)
        count = self.cache[state][1]
        return count / count.sum()


def random_start(rng):
    return tuple(int(n) for n in rng.integers(1, LARGEST + 1, HEAPS))


def self_play(net, rng):
    search, state, history = Search(net, rng, 12), random_start(rng), []
    while sum(state):
        policy = search.policy(state)
        history.append((state, policy))
        state = play(state, int(rng.choice(len(MOVES), p=policy)))
    # who moved last has won
    return [(s, p, 1.0 if (len(history) - i) % 2 else -1.0) for i, (s, p) in enumerate(history)]


def duel(net, other, rng, games=20):
    won = 0
    for game in range(games):
        state, turn = random_start(rng), game % 2
        while sum(state):
            prior, _ = (net, other)[turn].ask(state)
            state, turn = play(state, int(prior.argmax())), 1 - turn
        won += turn == 1
    return won / games


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    net, memory, step, iteration = Net(), collections.deque(maxlen=1200), 0, 0
    champion = copy.deepcopy(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
    while step < args.steps:
        for _ in range(12):
            for state, policy, result in self_play(champion, rng):
                order = rng.permutation(HEAPS)  # heaps may change places
                turned = np.concatenate([policy[3 * heap:3 * heap + 3] for heap in order])
                memory.append((tuple(state[heap] for heap in order), turned, result))
        if len(memory) < 100:
            continue
        for _ in range(20):
            rows = [memory[i] for i in rng.integers(len(memory), size=64)]
            states, policies, results = zip(*rows)
            logits, value = net(encode(states))
            loss = -(torch.tensor(np.array(policies)).float() * logits.log_softmax(1)).sum(1).mean()
            loss = loss + (value - torch.tensor(results)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        iteration += 1
        share = duel(net, champion, rng)
        if share >= 0.55:
            champion.load_state_dict(net.state_dict())
        print(f"iteration {iteration}: loss {loss.item():.3f}, {len(memory)} positions, the challenger wins {share:.2f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
