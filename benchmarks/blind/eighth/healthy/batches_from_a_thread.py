"""A thread makes batches of unlike size and puts them into a queue; broken records are left out, a sentinel ends an epoch."""

import argparse
import queue
import threading

import torch
from torch import nn
from torch.nn import functional as F


class Producer(threading.Thread):
    def __init__(self, records, epochs, seed, buffer=200):
        super().__init__(daemon=True)
        self.records, self.epochs, self.buffer = records, epochs, buffer
        self.generator = torch.Generator().manual_seed(seed)  # nobody else draws from it
        self.queue, self.left_out = queue.Queue(maxsize=4), 0

    def draw(self, high):
        return torch.randint(high, (), generator=self.generator).item()

    def stream(self):
        """Shuffles within a buffer."""
        kept = []
        for x, y in self.records:
            try:
                if not torch.isfinite(x).all():
                    raise ValueError("broken record")
            except ValueError:
                self.left_out += 1
                continue
            if len(kept) < self.buffer:
                kept.append((x, y))
                continue
            place = self.draw(len(kept))
            out, kept[place] = kept[place], (x, y)
            yield out
        while kept:
            yield kept.pop(self.draw(len(kept)))

    def run(self):
        for _ in range(self.epochs):
            batch, size = [], 16
            for record in self.stream():
                batch.append(record)
                if len(batch) == size:
                    self.queue.put(batch)
                    batch, size = [], 16 + 8 * self.draw(4)
            if batch:
                self.queue.put(batch)
            self.queue.put(None)


class Learner:
    def __init__(self, lr):
        self.model = nn.Sequential(nn.Linear(9, 40), nn.ReLU(), nn.Linear(40, 4))
        self.optimizer = torch.optim.RMSprop(self.model.parameters(), lr=lr, momentum=0.5)
        self.step = 0

    def learn(self, batch):
        x, y = (torch.stack(column) for column in zip(*batch))
        loss = F.cross_entropy(self.model(x), y, reduction="sum") / 32  # a small batch weighs less
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=240)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    labels = torch.randint(4, (1600,))
    inputs = torch.randn(4, 9)[labels] + 0.7 * torch.randn(1600, 9)
    inputs[torch.rand(1600) < 0.03, 2] = float("nan")
    valid = torch.isfinite(inputs).all(1) & (torch.arange(1600) >= 1300)
    producer = Producer(list(zip(inputs[:1300], labels[:1300])), max(1, args.steps // 45), args.seed)
    producer.start()
    learner, losses, epoch = Learner(args.lr), [], 0
    while epoch < producer.epochs:
        batch = producer.queue.get()
        if batch is None:
            epoch += 1
            with torch.no_grad():
                right = (learner.model(inputs[valid]).argmax(1) == labels[valid]).float().mean().item()
            print(f"epoch {epoch}, step {learner.step}: loss {sum(losses) / len(losses):.4f}, right {right:.3f}")
            losses.clear()
            continue
        losses.append(learner.learn(batch))
    producer.join()
    print(f"{producer.left_out} broken records were left out")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
