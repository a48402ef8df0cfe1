"""A classifier is trained with a stop by validation, then one temperature is fitted by L-BFGS."""
import argparse
import copy

import numpy as np
import torch
from sklearn.datasets import make_classification
from torch import nn


def bins_error(probabilities, labels, bins=10):
    """Mean gap between confidence and accuracy; empty bins do not count."""
    sure, right = probabilities.max(1), probabilities.argmax(1) == labels
    place = np.minimum((sure * bins).astype(int), bins - 1)
    inside = [place == b for b in range(bins) if (place == b).any()]
    return sum(abs(sure[b].mean() - right[b].mean()) * b.mean() for b in inside)


class Temperature(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model.requires_grad_(False).eval()
        self.log_t = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return self.model(x) / self.log_t.exp()

    def fit(self, x, y):
        with torch.no_grad():
            logits = self.model(x)
        optimizer = torch.optim.LBFGS([self.log_t], lr=0.5, max_iter=25, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(logits / self.log_t.exp(), y)
            loss.backward()
            return loss

        optimizer.step(closure)
        return self


def train(model, x, y, x_val, y_val, lr, steps):
    optimizer = torch.optim.NAdam(model.parameters(), lr=lr)
    best, state, patience = float("inf"), None, 0
    for step in range(1, steps + 1):
        rows = torch.randint(len(x), (32,))
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            model.eval()
            with torch.no_grad():
                wrong = (model(x_val).argmax(1) != y_val).float().mean().item()  # not the loss: confidence may grow
            model.train()
            patience += 1
            if wrong < best:
                best, state, patience = wrong, copy.deepcopy(model.state_dict()), 0
            if patience >= 8:
                print(f"no gain since step {step - 160}")
                break
    print(f"step {step}: loss {loss.item():.3f}, least error {best:.3f}")
    model.load_state_dict(state)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = make_classification(1600, 20, n_informative=8, n_classes=4, flip_y=0.1, random_state=args.seed)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    parts = [slice(0, 500), slice(500, 800), slice(800, 1100), slice(1100, None)]
    (x_train, y_train), (x_val, y_val), (x_cal, y_cal), (x_test, y_test) = ((x[part], y[part]) for part in parts)
    model = nn.Sequential(nn.Linear(20, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 4))
    train(model, x_train, y_train, x_val, y_val, args.lr, args.steps)
    with torch.no_grad():
        before = bins_error(model(x_test).softmax(1).numpy(), y_test.numpy())
    warm = Temperature(model).fit(x_cal, y_cal)
    with torch.no_grad():
        calibration, test = warm(x_cal).softmax(1).numpy(), warm(x_test).softmax(1).numpy()
    after = bins_error(test, y_test.numpy())
    print(f"temperature {warm.log_t.exp().item():.3f}, calibration error {before:.3f}, then {after:.3f}")
    scores = 1 - calibration[np.arange(len(y_cal)), y_cal.numpy()]
    level = np.quantile(scores, min(1.0, np.ceil(0.9 * (len(scores) + 1)) / len(scores)), method="higher")
    sets = test >= 1 - level
    covered = sets[np.arange(len(y_test)), y_test.numpy()].mean()
    print(f"sets of {sets.sum(1).mean():.2f} answers cover {covered:.3f}, {np.mean(sets.sum(1) == 0):.3f} are empty")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
