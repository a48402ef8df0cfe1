"""Digits with shifts drawn by Python's generator and noise drawn by NumPy's."""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Augment:
    """Shifts each picture by up to one pixel and adds noise."""

    def __init__(self, seed):
        self.shifts = random.Random(seed)
        self.noise = np.random.default_rng(seed)

    def __call__(self, images):
        out = np.empty_like(images)
        for k, image in enumerate(images):
            dx, dy = self.shifts.randint(-1, 1), self.shifts.randint(-1, 1)
            out[k] = np.roll(image, (dy, dx), axis=(0, 1))
        out += 0.05 * self.noise.standard_normal(out.shape).astype(np.float32)
        return torch.from_numpy(out)

    def state(self):
        return {"python": self.shifts.getstate(), "numpy": self.noise.bit_generator.state}

    def set_state(self, state, forget):
        if forget != "python":
            self.shifts.setstate(state["python"])
        if forget != "numpy":
            self.noise.bit_generator.state = state["numpy"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--out")
    parser.add_argument("--resume")
    parser.add_argument("--forget", choices=["none", "python", "numpy"], default="none")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    digits = load_digits()
    images = digits.images.astype(np.float32) / 16.0
    labels = torch.tensor(digits.target)
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    augment = Augment(args.seed)
    start = 0
    if args.resume:
        state = torch.load(args.resume, weights_only=False)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        augment.set_state(state["augment"], args.forget)
        start = state["step"]

    for step in range(start, args.steps):
        if args.out and not args.resume and step == args.save_at:
            torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "augment": augment.state()}, args.out)
        rows = (np.arange(32) * 53 + 389 * step) % len(images)
        x = augment(images[rows]).unsqueeze(1)
        loss = F.cross_entropy(model(x), labels[torch.from_numpy(rows)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.8f}")

    print("weight sum", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
