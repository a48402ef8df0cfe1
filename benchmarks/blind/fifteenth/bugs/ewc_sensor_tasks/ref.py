"""Continual learning: five boards of sensors one after the other with one network, old knowledge held by EWC.

Which weights matter to a finished task is measured by the diagonal of its Fisher information."""
import argparse
import logging

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("ewc")


class Board:
    """A task: six sensors of the panel of thirty are wired, the others show next to nothing."""

    def __init__(self, index, seed, n_train=600, n_test=400):
        g = torch.Generator().manual_seed(1000 * seed + index)
        wired = torch.arange(6) + 6 * index
        gain = torch.full((30,), 0.02)
        gain[wired] = 1.0
        a, b = torch.randn(2, 6, generator=g)
        n = n_train + n_test
        x = torch.randn(n, 30, generator=g) * gain
        score = torch.tanh(x[:, wired] @ a) + 0.7 * (x[:, wired] @ b) * (x[:, wired[0]] > 0)
        y = torch.bucketize(score, score.quantile(torch.tensor([1 / 3, 2 / 3])))
        self.train = (x[:n_train], y[:n_train])
        self.test = (x[n_train:], y[n_train:])

    def batch(self, size):
        index = torch.randint(0, len(self.train[0]), (size,))
        return self.train[0][index], self.train[1][index]


class ElasticWeights:
    def __init__(self, model, importance):
        self.model, self.importance = model, importance
        self.fisher, self.anchor = [], []

    def estimate_fisher(self, x):
        params = {k: v.detach() for k, v in self.model.named_parameters()}
        with torch.no_grad():
            labels = torch.distributions.Categorical(logits=self.model(x)).sample()

        def log_likelihood(p, sample, label):
            return -F.cross_entropy(functional_call(self.model, p, (sample[None],)), label[None])

        per_sample = vmap(grad(log_likelihood), in_dims=(None, 0, 0))(params, x, labels)
        return {k: (g ** 2).mean(dim=0) for k, g in per_sample.items()}

    def consolidate(self, x):
        self.fisher.append(self.estimate_fisher(x))
        self.anchor.append({k: v.detach().clone() for k, v in self.model.named_parameters()})

    def penalty(self):
        total = 0.0
        for fisher, anchor in zip(self.fisher, self.anchor):
            for name, p in self.model.named_parameters():
                total = total + (fisher[name] * (p - anchor[name]) ** 2).sum()
        return 0.5 * self.importance * total


def accuracy(model, board):
    with torch.no_grad():
        x, y = board.test
        return (model(x).argmax(-1) == y).float().mean().item()


def main(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    boards = [Board(i, args.seed) for i in range(5)]
    model = nn.Sequential(nn.Linear(30, 100), nn.ReLU(), nn.Linear(100, 40), nn.ReLU(), nn.Linear(40, 3))
    ewc = ElasticWeights(model, args.importance)
    fresh = []
    for number, board in enumerate(boards):
        optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        for step in range(args.steps):
            x, y = board.batch(64)
            loss = F.cross_entropy(model(x), y)
            full = loss + ewc.penalty()
            optimizer.zero_grad()
            full.backward()
            optimizer.step()
        fresh.append(accuracy(model, board))
        log.info("board %d: loss %.3f penalty %.3f accuracy %.3f", number, loss.item(), (full - loss).item(), fresh[-1])
        ewc.consolidate(board.train[0][:300])
    final = [accuracy(model, b) for b in boards]
    spread = (ewc.fisher[0]["0.weight"].std() / ewc.fisher[0]["0.weight"].mean()).item()\
        if ewc.fisher[0]["0.weight"].ndim else 0.0
    print(f"EVIDENCE new boards {sum(fresh[1:]) / 4:.3f} old boards at the end {sum(final[:-1]) / 4:.3f} "
          f"mean of all {sum(final) / 5:.3f} spread of importance {spread:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=250, help="for each board")
    parser.add_argument("--importance", type=float, default=60.0)
    main(parser.parse_args())
