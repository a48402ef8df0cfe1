"""Bag-of-words classifier whose learning rate is computed by hand from a counter."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS, TOPICS = 150, 6


def make_documents(n, generator):
    topics = torch.randint(0, TOPICS, (n,), generator=generator)
    weights = torch.full((TOPICS, WORDS), 1.0)
    for t in range(TOPICS):
        weights[t, t * 12:(t + 1) * 12] = 8.0
    words = torch.multinomial(weights[topics], 20, replacement=True, generator=generator)
    return words, topics


class Classifier(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.EmbeddingBag(WORDS, dim, mode="mean")
        self.out = nn.Linear(dim, TOPICS)

    def forward(self, words):
        return self.out(torch.relu(self.embed(words)))


class Updater:
    """Optimizer with warmup and then decay by the inverse root of its own counter."""

    def __init__(self, model, peak=0.05, warmup=6):
        self.optimizer = torch.optim.Adam(model.parameters(), lr=peak)
        self.peak = peak
        self.warmup = warmup
        self.num_updates = 0

    def rate(self):
        n = self.num_updates + 1
        return self.peak * min(n / self.warmup, (self.warmup / n) ** 0.5)

    def step(self, loss):
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.num_updates += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--out")
    parser.add_argument("--resume")
    parser.add_argument("--forget", choices=["none", "num_updates"], default="none",
                        help="num_updates: the counter from which the rate is computed")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    words, topics = make_documents(800, torch.Generator().manual_seed(args.seed))
    generator = torch.Generator().manual_seed(args.seed + 1)
    model = Classifier()
    updater = Updater(model)
    start = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        updater.optimizer.load_state_dict(state["optimizer"])
        generator.set_state(state["generator"])
        if args.forget != "num_updates":
            updater.num_updates = state["num_updates"]
        start = state["step"]

    for step in range(start, args.steps):
        if args.out and not args.resume and step == args.save_at:
            torch.save({"step": step, "model": model.state_dict(),
                        "optimizer": updater.optimizer.state_dict(),
                        "num_updates": updater.num_updates,
                        "generator": generator.get_state()}, args.out)
        i = torch.randint(0, len(words), (32,), generator=generator)
        rate = updater.rate()
        loss = F.cross_entropy(model(words[i]), topics[i])
        updater.step(loss)
        print(f"step {step} loss {loss.item():.8f} rate {rate:.6f}")

    print("weight sum", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
