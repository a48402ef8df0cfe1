"""A memory task whose length is drawn below a level; the level follows success up and down."""

import argparse
import collections

import torch
from torch import nn

SIGNS = 5


class Memory(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embedding = nn.Embedding(SIGNS + 2, width)  # a sign for recall and one for the blank
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, SIGNS)

    def forward(self, signs, wait):
        count, length = signs.shape
        blanks = torch.full((count, wait), SIGNS)
        recall = torch.full((count, length), SIGNS + 1)
        output, _ = self.rnn(self.embedding(torch.cat([signs, blanks, recall], 1)))
        return self.out(output[:, -length:])


class Teacher:
    def __init__(self, generator, highest=8):
        self.generator, self.highest = generator, highest
        self.level, self.results = 1, collections.deque(maxlen=8)

    def lesson(self):
        def draw(low, high):
            return torch.randint(low, high + 1, (), generator=self.generator).item()
        old = torch.rand((), generator=self.generator).item() < 0.25
        length = draw(1, self.level) if old else self.level
        return torch.randint(SIGNS, (32, length), generator=self.generator), draw(0, 2), old

    def told(self, share):
        """Only current lessons count; above 0.9 up, below 0.3 down."""
        self.results.append(share)
        if len(self.results) < 4:
            return ""
        mean = sum(self.results) / len(self.results)
        move = (mean > 0.9 and self.level < self.highest) - (mean < 0.3 and self.level > 1)
        if move:
            self.level += move
            self.results.clear()
        return ["", "up", "down"][move]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    teacher, model = Teacher(torch.Generator().manual_seed(args.seed)), Memory()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr / 2)
    for step in range(1, args.steps + 1):
        signs, wait, old = teacher.lesson()
        logits = model(signs, wait)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), signs.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        if not old:
            move = teacher.told((logits.argmax(-1) == signs).float().mean().item())
            if move:
                print(f"step {step}: {move} to level {teacher.level}, loss {loss.item():.3f}")
        if teacher.level == teacher.highest and loss.item() < 0.02:
            print(f"learned after {step} steps")
            break
    print(f"level {teacher.level} at the end")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
