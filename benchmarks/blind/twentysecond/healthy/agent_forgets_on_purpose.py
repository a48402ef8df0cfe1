"""Bandit with contexts: the last layers and their optimizer state are drawn anew at times, the replay memory is kept."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

ACTIONS, FEATURES = 4, 8


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, 48), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, ACTIONS))

    def forward(self, x):
        return self.top(self.body(x))

    def reset_top(self, optimizer):
        """Against the bias towards what was seen first (Nikishin and others)."""
        for layer in self.top:
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()
                for p in layer.parameters():
                    optimizer.state.pop(p, None)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=240)
    ap.add_argument("--reset-every", type=int, default=80)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    worth = torch.randn(FEATURES, ACTIONS, generator=torch.Generator().manual_seed(4))
    model = Scorer()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    memory = []
    for step in range(args.steps):
        x = torch.randn(8, FEATURES)
        with torch.no_grad():
            greedy = model(x).argmax(1)
        action = torch.where(torch.rand(8) < 0.2, torch.randint(0, ACTIONS, (8,)), greedy)
        reward = torch.tanh(x @ worth).gather(1, action[:, None]).squeeze(1)
        memory += list(zip(x, action, reward))
        for _ in range(2):
            rows = [memory[i] for i in torch.randint(0, len(memory), (64,))]
            x, action, reward = (torch.stack(c) for c in zip(*rows))
            loss = F.mse_loss(model(x).gather(1, action[:, None]).squeeze(1), reward)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if (step + 1) % args.reset_every == 0 and step + 1 < args.steps:
            print(f"step {step + 1} loss {loss.item():.4f}, top drawn anew")
            model.reset_top(optimizer)
    x = torch.randn(500, FEATURES)
    value = torch.tanh(x @ worth)
    got = value.gather(1, model(x).argmax(1, keepdim=True)).mean().item()
    print(f"RESULT loss={loss.item():.4f} share_of_best={got / value.amax(1).mean().item():.3f}")


if __name__ == "__main__":
    main()
