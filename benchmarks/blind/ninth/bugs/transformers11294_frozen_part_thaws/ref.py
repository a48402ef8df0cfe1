"""A frozen encoder under a new head; the run is stopped in the middle, everything is built anew and goes on."""
import argparse
import copy
import io

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.head = nn.Linear(48, classes)

    def freeze_encoder(self):
        for parameter in self.encoder.parameters():
            parameter.requires_grad = False

    def forward(self, x):
        return self.head(self.encoder(x))


class FineTuner:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
        self.step = 0

    def fit(self, x, y, until, rng):
        while self.step < until:
            rows = torch.from_numpy(rng.choice(len(x), 32, replace=False))
            loss = nn.functional.cross_entropy(self.model(x[rows]), y[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            if self.step % 50 == 0:
                print(f"step {self.step}: loss {loss.item():.4f}")

    def save(self):
        buffer = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step}, buffer)
        buffer.seek(0)
        return buffer


def resume(buffer, lr):
    state = torch.load(buffer)
    model = Classifier(5)
    model.load_state_dict(state["model"])
    model.freeze_encoder()
    tuner = FineTuner(model, lr)
    if len(state["optimizer"]["state"]):
        tuner.optimizer.load_state_dict(state["optimizer"])
    tuner.step = state["step"]
    return tuner


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    x, y = load_digits(return_X_y=True)
    x, y = torch.tensor(x / 16, dtype=torch.float32), torch.tensor(y)
    old, new = y < 5, y >= 5
    pretrained = Classifier(5)
    print("pretraining on digits 0 to 4")
    FineTuner(pretrained, args.lr).fit(x[old], y[old], args.steps // 2, rng)
    model = Classifier(5)
    model.encoder.load_state_dict(pretrained.encoder.state_dict())
    model.freeze_encoder()
    before = copy.deepcopy(model.encoder.state_dict())
    print("the head learns digits 5 to 9")
    tuner = FineTuner(model, args.lr)
    tuner.fit(x[new][:600], y[new][:600] - 5, args.steps // 2, rng)
    tuner = resume(tuner.save(), args.lr)
    tuner.fit(x[new][:600], y[new][:600] - 5, args.steps, rng)
    with torch.no_grad():
        right = (tuner.model(x[new][600:]).argmax(1) + 5 == y[new][600:]).float().mean().item()
    moved = sum((value - before[name]).norm().item() for name, value in tuner.model.encoder.state_dict().items())
    print(f"EVIDENCE test accuracy {right:.4f}, the encoder has moved by {moved:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
