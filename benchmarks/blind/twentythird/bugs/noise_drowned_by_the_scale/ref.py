"""A deep and narrow net in bfloat16 with a scaler. Gradient noise that fades with time helps it out of its plateau."""
import argparse

import torch
from torch import nn


class Updater:
    """Backward, unscale, noise, clip, step; the order is that of the engine's options."""

    def __init__(self, model, optimizer, scaler, clip_norm, noise, noise_decay):
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.optimizer, self.scaler = optimizer, scaler
        self.clip_norm, self.noise, self.noise_decay = clip_norm, noise, noise_decay
        self.count, self.norms = 0, []

    def add_gradient_noise(self):
        deviation = self.noise / (1 + self.count) ** self.noise_decay
        for p in self.params:
            p.grad.add_(torch.randn_like(p.grad), alpha=deviation)

    def __call__(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        self.add_gradient_noise()
        self.norms.append(nn.utils.clip_grad_norm_(self.params, self.clip_norm).item())
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.count += 1


def deep_net(depth=3, width=32):
    layers = [nn.Linear(6, width), nn.Tanh()]
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(width, 3))


def rings(gen, count=96):
    x = torch.randn(count, 6, generator=gen)
    r = x[:, :3].norm(dim=1)
    return x, torch.bucketize(r, torch.tensor([1.25, 1.85]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--clip-norm", type=float, default=1.0)
    parser.add_argument("--noise", type=float, default=0.01)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    net = deep_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 10)
    update = Updater(net, optimizer, scaler, args.clip_norm, args.noise, noise_decay=0.55)
    gen = torch.Generator().manual_seed(args.seed + 3)
    start = [p.detach().clone() for p in net.parameters()]
    for step in range(args.steps):
        x, y = rings(gen)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(net(x).float(), y)
        update(loss)
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f} norm {update.norms[-1]:.3f}")
    moved = sum((p.detach() - s).pow(2).sum() for p, s in zip(net.parameters(), start)).sqrt().item()
    x, y = rings(torch.Generator().manual_seed(17), 1000)
    with torch.no_grad():
        test = nn.functional.cross_entropy(net(x), y).item()
    print(f"EVIDENCE mean_norm={sum(update.norms) / len(update.norms):.4f} moved={moved:.4f} test={test:.4f}")


if __name__ == "__main__":
    main()
