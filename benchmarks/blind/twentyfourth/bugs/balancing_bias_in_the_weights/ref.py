"""A small mixture of experts balanced without a loss: a bias steers which experts are chosen."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

DIM, EXPERTS, TOP = 16, 8, 2


class Router(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.gate = nn.Linear(DIM, EXPERTS, bias=False)
        self.register_buffer("correction_bias", torch.zeros(EXPERTS))
        self.rate = rate
        self.load = torch.zeros(EXPERTS)

    def forward(self, x):
        scores = torch.sigmoid(self.gate(x))
        _, chosen = torch.topk(scores + self.correction_bias, TOP, dim=-1)
        weights = torch.gather(scores, -1, chosen)
        if self.training:
            self.load = torch.bincount(chosen.flatten(), minlength=EXPERTS).float()
        return weights / weights.sum(-1, keepdim=True), chosen, scores

    @torch.no_grad()
    def balance(self):
        """Experts with less than their share get a larger bias, those with more a smaller one."""
        self.correction_bias += self.rate * torch.sign(self.load.mean() - self.load)


class MoE(nn.Module):
    def __init__(self, rate, hidden=24):
        super().__init__()
        self.router = Router(rate)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(DIM, hidden), nn.SiLU(), nn.Linear(hidden, DIM)) for _ in range(EXPERTS)])
        self.out = nn.Linear(DIM, 1)
        self.error_of_weights = 0.0

    def forward(self, x):
        weights, chosen, scores = self.router(x)
        share = torch.gather(scores, -1, chosen)
        self.error_of_weights = (weights - share / share.sum(-1, keepdim=True)).abs().mean().item()
        mixed = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            row, place = (chosen == number).nonzero(as_tuple=True)
            if len(row):
                mixed = mixed.index_add(0, row, weights[row, place, None] * expert(x[row]))
        return self.out(x + mixed).squeeze(-1)


def tokens(gen, n=256):
    """Most tokens come from one of eight topics, which are not equally frequent."""
    topics = torch.randn(8, DIM, generator=torch.Generator().manual_seed(21)) * 1.5
    often = torch.tensor([8.0, 5, 3, 2, 1, 1, 1, 1])
    topic = torch.multinomial(often, n, replacement=True, generator=gen)
    x = topics[topic] + torch.randn(n, DIM, generator=gen)
    return x, torch.sin(x[:, 0] * (1 + topic % 3)) + 0.3 * x[:, 1] * (topic % 2 * 2 - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--rate", type=float, default=0.01)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = MoE(args.rate)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 6)
    error = 0.0
    for step in range(args.steps):
        x, y = tokens(gen)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.router.balance()
        error += model.error_of_weights / args.steps
        if (step + 1) % 30 == 0:
            print(f"step {step + 1} loss {loss.item():.4f} largest load {model.router.load.max().item():.0f}")
    model.eval()
    x, y = tokens(torch.Generator().manual_seed(77), 3000)
    with torch.no_grad():
        test = F.mse_loss(model(x), y).item()
    print(f"EVIDENCE error_of_weights={error:.5f} test={test:.4f}")


if __name__ == "__main__":
    main()
