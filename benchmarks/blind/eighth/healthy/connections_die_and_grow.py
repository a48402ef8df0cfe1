"""Sparse from the beginning: the least weights die, new connections grow where the dense gradient is greatest."""
import argparse
import math

import torch
from torch import nn


class RigLScheduler:
    """Keeps a mask for each matrix; changes it every `delta` steps until `end`, in place of the optimizer's step."""

    def __init__(self, model, optimizer, density=0.2, delta=20, alpha=0.3, end=150):
        self.optimizer, self.delta, self.alpha, self.end, self.step_count = optimizer, delta, alpha, end, 0
        self.weights = [m.weight for m in model.modules() if isinstance(m, nn.Linear)][:-1]
        self.masks = [self.random_mask(w, density) for w in self.weights]
        self.apply_mask_to_weights()

    @staticmethod
    def random_mask(w, density):
        mask = torch.zeros(w.numel(), dtype=torch.bool)
        mask[torch.randperm(w.numel())[:int(density * w.numel())]] = True
        return mask.view_as(w)

    @torch.no_grad()
    def apply_mask_to_weights(self):
        for w, mask in zip(self.weights, self.masks):
            w.mul_(mask)

    @torch.no_grad()
    def apply_mask_to_gradients(self):
        for w, mask in zip(self.weights, self.masks):
            w.grad.mul_(mask)

    @torch.no_grad()
    def rewire(self):
        share = 0.5 * self.alpha * (1 + math.cos(math.pi * self.step_count / self.end))
        for w, mask in zip(self.weights, self.masks):
            count = int(share * mask.sum())
            if count == 0:
                continue
            alive = torch.where(mask, w.abs(), torch.full_like(w, float("inf"))).flatten()
            dead = alive.topk(count, largest=False).indices
            mask.view(-1)[dead] = False
            score = torch.where(mask, torch.full_like(w, -1.0), w.grad.abs()).flatten()
            born = score.topk(count).indices
            mask.view(-1)[born] = True
            fresh = torch.zeros_like(mask).view(-1)
            fresh[born] = True
            fresh = fresh.view_as(w)
            w[fresh] = 0.0
            state = self.optimizer.state[w]
            if "momentum_buffer" in state and state["momentum_buffer"] is not None:
                state["momentum_buffer"][~mask | fresh] = 0.0
            w.mul_(mask)

    def __call__(self):
        """True if the optimizer is to step."""
        self.step_count += 1
        if self.step_count % self.delta == 0 and self.step_count < self.end:
            self.rewire()
            return False
        return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    truth = torch.randn(6, 5)
    x = torch.randn(2000, 30)
    y = (x[:, :6] @ truth).argmax(1)
    net = nn.Sequential(nn.Linear(30, 100), nn.ReLU(), nn.Linear(100, 60), nn.ReLU(), nn.Linear(60, 5))
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    pruner = RigLScheduler(net, optimizer, end=int(0.75 * args.steps))
    for step in range(args.steps):
        rows = torch.randint(1600, (64,))
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        if pruner():
            pruner.apply_mask_to_gradients()
            optimizer.step()
            pruner.apply_mask_to_weights()
        if step % 75 == 74:
            alive = sum(int((w != 0).sum()) for w in pruner.weights)
            print(f"step {step + 1}: loss {loss.item():.4f}, {alive} connections alive")
    with torch.no_grad():
        right = (net(x[1600:]).argmax(1) == y[1600:]).float().mean().item()
    useful, others = (part.float().mean().item() for part in pruner.masks[0].split([6, 24], dim=1))
    print(f"right {right:.4f}; density at useful inputs {useful:.3f}, elsewhere {others:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
