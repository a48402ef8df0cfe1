"""Regression with gradients in half precision and a loss scale kept by hand."""
import argparse

import torch
import torch.nn as nn
from sklearn.datasets import load_diabetes


class LossScale:
    """Halves after an overflow, doubles after some good steps in a row."""

    def __init__(self, value=2.0 ** 20, growth_interval=4):
        self.value = value
        self.growth_interval = growth_interval
        self.good_steps = 0

    def update(self, overflow):
        if overflow:
            self.value /= 2
            self.good_steps = 0
            return
        self.good_steps += 1
        if self.good_steps == self.growth_interval:
            self.value *= 2
            self.good_steps = 0

    def state_dict(self):
        return {"value": self.value, "good_steps": self.good_steps}

    def load_state_dict(self, state):
        self.value = state["value"]
        self.good_steps = state["good_steps"]


def half_gradients(model, scale):
    """Rounds scaled gradients to half precision and unscales; True on overflow."""
    overflow = False
    for p in model.parameters():
        g = p.grad.half()
        overflow |= not bool(torch.isfinite(g).all())
        p.grad = g.float() / scale
    return overflow


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--out")
    parser.add_argument("--resume")
    parser.add_argument("--forget", choices=["none", "loss_scale"], default="none")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    data = load_diabetes()
    x = torch.tensor(data.data, dtype=torch.float32) * 20
    y = torch.tensor(data.target, dtype=torch.float32).unsqueeze(1)
    y = (y - y.mean()) / y.std()
    generator = torch.Generator().manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scale = LossScale()
    first = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        generator.set_state(state["generator"])
        if args.forget != "loss_scale":
            scale.load_state_dict(state["loss_scale"])
        first = state["step"]

    for step in range(first, args.steps):
        if args.out and not args.resume and step == args.save_at:
            torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "loss_scale": scale.state_dict(), "generator": generator.get_state()}, args.out)
        i = torch.randint(0, len(x), (32,), generator=generator)
        loss = nn.functional.mse_loss(model(x[i]), y[i])
        optimizer.zero_grad()
        (loss * scale.value).backward()
        overflow = half_gradients(model, scale.value)
        if not overflow:
            optimizer.step()
        print(f"step {step} loss {loss.item():.8f} scale {scale.value:.0f}{' skipped' if overflow else ''}")
        scale.update(overflow)

    print("weight sum", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
