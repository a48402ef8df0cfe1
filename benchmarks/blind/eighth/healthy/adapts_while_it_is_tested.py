"""Test-time adaptation: norms are trained on the entropy of test batches without labels, then everything is put back."""
import argparse
import copy

import torch
from torch import nn


class Tent:
    """Wraps a trained model; norms use the statistics of the batch, and only their scales and shifts learn."""

    def __init__(self, model, lr):
        self.model = model
        self.saved_modes = {name: m.training for name, m in model.named_modules()}
        self.saved = copy.deepcopy(model.state_dict())
        self.model.train()
        self.model.requires_grad_(False)
        params = []
        for m in model.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.requires_grad_(True)
                m.track_running_stats = False
                params += [m.weight, m.bias]
        self.optimizer = torch.optim.Adam(params, lr=lr)
        self.optimizer_state = copy.deepcopy(self.optimizer.state_dict())

    @torch.enable_grad()
    def __call__(self, x):
        logits = self.model(x)
        entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1)
        sure = entropy < 0.8 * torch.log(torch.tensor(float(logits.shape[1])))
        if sure.any():
            entropy[sure].mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        return logits.detach()

    def reset(self):
        for m in self.model.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.track_running_stats = True
        self.model.load_state_dict(self.saved)
        self.optimizer.load_state_dict(self.optimizer_state)

    def unwrap(self):
        self.reset()
        self.model.requires_grad_(True)
        for name, m in self.model.named_modules():
            m.training = self.saved_modes[name]
        return self.model


def network():
    return nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(),
                         nn.Linear(64, 4))


def accuracy(predict, batches):
    return sum((predict(x).argmax(1) == y).sum().item() for x, y in batches) / sum(len(y) for _, y in batches)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.004)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    centres = 1.5 * torch.randn(4, 16)

    def draw(count, shift=0.0, scale=1.0):
        labels = torch.randint(4, (count,))
        return (centres[labels] + torch.randn(count, 16)) * scale + shift, labels

    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    tests = {"clean": [draw(50) for _ in range(8)], "shifted": [draw(50, shift=2.0) for _ in range(8)],
             "scaled": [draw(50, scale=torch.rand(16) * 3) for _ in range(8)]}
    for step in range(args.steps):
        x, y = draw(48)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == args.steps // 2 or step == args.steps - 1:
            model.eval()
            with torch.no_grad():
                plain = {name: accuracy(model, batches) for name, batches in tests.items()}
            tent = Tent(model, args.lr / 4)
            adapted = {}
            for name, batches in tests.items():
                tent.reset()
                for m in model.modules():
                    if isinstance(m, nn.BatchNorm1d):
                        m.track_running_stats = False
                adapted[name] = accuracy(tent, batches)
            model = tent.unwrap().train()
            print(f"step {step + 1}: loss {loss.item():.4f}")
            print("   " + ", ".join(f"{name}: {plain[name]:.3f} as it is, {adapted[name]:.3f} adapted" for name in tests))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
