"""Softmax regression with a hidden layer on wine data; the sampler can be saved."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_wine


class ResumableSampler:
    """Shuffled batches; knows its pass, its order and its place in it."""

    def __init__(self, size, batch_size, seed):
        self.size = size
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0
        self.position = 0

    def order(self):
        generator = torch.Generator().manual_seed(self.seed + 7919 * self.epoch)
        return torch.randperm(self.size, generator=generator)

    def next(self):
        if self.position + self.batch_size > self.size:
            self.epoch += 1
            self.position = 0
        chosen = self.order()[self.position:self.position + self.batch_size]
        self.position += self.batch_size
        return chosen

    def state_dict(self):
        return {"epoch": self.epoch, "position": self.position, "seed": self.seed}

    def load_state_dict(self, state):
        self.epoch = state["epoch"]
        self.position = state["position"]
        self.seed = state["seed"]


def load_data():
    wine = load_wine()
    x = torch.tensor(wine.data, dtype=torch.float32)
    return (x - x.mean(0)) / x.std(0), torch.tensor(wine.target)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--out")
    parser.add_argument("--resume")
    parser.add_argument("--forget", choices=["none", "sampler"], default="none")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    x, y = load_data()
    model = nn.Sequential(nn.Linear(13, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3, momentum=0.5)
    sampler = ResumableSampler(len(x), 24, args.seed)
    parts = {"model": model, "optimizer": optimizer, "sampler": sampler}
    step = 0
    if args.resume:
        state = torch.load(args.resume)
        step = state["step"]
        for name, part in parts.items():
            if name != args.forget:
                part.load_state_dict(state[name])

    while step < args.steps:
        if args.out and not args.resume and step == args.save_at:
            torch.save({"step": step, **{n: p.state_dict() for n, p in parts.items()}}, args.out)
        chosen = sampler.next()
        loss = F.cross_entropy(model(x[chosen]), y[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} pass {sampler.epoch} loss {loss.item():.8f}")
        step += 1

    print("weight sum", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
