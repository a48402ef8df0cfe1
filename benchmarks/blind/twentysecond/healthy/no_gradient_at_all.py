"""Evolution strategies on a pole: weights are disturbed in pairs, and step along the disturbances by the returns. No backward pass."""
import argparse

import torch
import torch.nn as nn


def balance(policy, starts):
    """Steps that a pole stays up, for a batch of starts."""
    angle, speed = starts.clone(), torch.zeros_like(starts)
    alive, total = torch.ones_like(starts), torch.zeros_like(starts)
    for _ in range(60):
        push = torch.tanh(policy(torch.stack([angle, speed], 1)).squeeze(1))
        speed = speed + 0.1 * (3 * angle + 2 * push)
        angle = angle + 0.1 * speed
        alive = alive * (angle.abs() < 0.6).float()
        total += alive * (1 - angle.abs())
    return total.mean().item()


@torch.no_grad()
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--steps", type=int, default=25)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    policy, sigma, pairs = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1)), 0.1, 8
    nn.init.zeros_(policy[2].weight)
    weights = nn.utils.parameters_to_vector(policy.parameters())
    for step in range(args.steps):
        starts = 0.4 * torch.rand(16) - 0.2
        noise = torch.randn(pairs, len(weights))
        gains = []
        for e in noise:
            scores = []
            for sign in (1, -1):
                nn.utils.vector_to_parameters(weights + sign * sigma * e, policy.parameters())
                scores.append(balance(policy, starts))
            gains.append(scores[0] - scores[1])
        gains = torch.tensor(gains)
        weights = weights + args.lr * (gains / (gains.std() + 1e-6)) @ noise / pairs
        nn.utils.vector_to_parameters(weights, policy.parameters())
        if step % 5 == 4:
            print(f"step {step + 1} return {balance(policy, starts):.2f}")
    print(f"RESULT return={balance(policy, torch.linspace(-0.2, 0.2, 41)):.2f}")


if __name__ == "__main__":
    main()
