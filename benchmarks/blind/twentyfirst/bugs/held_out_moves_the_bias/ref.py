"""A mixture of experts over token types: a bias on the router and a small auxiliary loss keep the experts busy."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

TYPES, DIM, EXPERTS, TOP_K = 12, 24, 6, 2


def tokens(n, gen, skewed=False):
    """Frequent and rare types; the held-out set is made of two rare types."""
    centres = torch.randn(TYPES, DIM, generator=torch.Generator().manual_seed(1)) * 1.5
    maps = torch.randn(TYPES, DIM, DIM, generator=torch.Generator().manual_seed(2)) / DIM**0.5
    share = torch.tensor([8.0, 6, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1])
    if skewed:
        share = torch.tensor([0.0] * 10 + [1, 1])
    kind = torch.multinomial(share, n, replacement=True, generator=gen)
    x = centres[kind] + torch.randn(n, DIM, generator=gen)
    return x, torch.einsum("nd,nde->ne", x, maps[kind])


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(DIM, EXPERTS, bias=False)
        self.register_buffer("expert_bias", torch.zeros(EXPERTS))
        self.register_buffer("tokens_per_expert", torch.zeros(EXPERTS))

    def forward(self, x):
        scores = self.gate(x).softmax(-1)
        chosen = (scores + self.expert_bias).topk(TOP_K, dim=-1).indices
        weights = scores.gather(1, chosen)
        weights = weights / weights.sum(-1, keepdim=True)
        counts = torch.bincount(chosen.flatten(), minlength=EXPERTS).float()
        if self.training:
            self.tokens_per_expert += counts
        mean_score = scores.mean(0)
        aux = EXPERTS * (counts / counts.sum() * mean_score).sum()
        return chosen, weights, aux

    @torch.no_grad()
    def update_bias(self, rate):
        """DeepSeek's balancing without a loss: raise the bias of idle experts, lower that of busy ones."""
        error = self.tokens_per_expert.mean() - self.tokens_per_expert
        step = rate * error.sign()
        self.expert_bias += step - step.mean()
        self.tokens_per_expert.zero_()


class ExpertLayer(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.router = Router()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(DIM, width), nn.GELU(), nn.Linear(width, DIM)) for _ in range(EXPERTS))

    def forward(self, x):
        chosen, weights, aux = self.router(x)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            row, slot = (chosen == e).nonzero(as_tuple=True)
            out = out.index_add(0, row, weights[row, slot, None] * expert(x[row]))
        return out, aux


@torch.no_grad()
def validate(model, gen):
    model.eval()
    total = 0.0
    for _ in range(4):
        x, y = tokens(512, gen, skewed=True)
        total += F.mse_loss(model(x)[0], y).item() / 4
    model.train()
    return total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=300)
    ap.add_argument("--aux-weight", type=float, default=0.02)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = ExpertLayer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    aux_sum = 0.0
    for step in range(1, args.steps + 1):
        x, y = tokens(128, gen)
        out, aux = model(x)
        loss = F.mse_loss(out, y)
        optimizer.zero_grad()
        (loss + args.aux_weight * aux).backward()
        optimizer.step()
        if step % 10 == 0:
            held_out = validate(model, gen)
        model.router.update_bias(0.01)
        aux_sum += aux.item() / args.steps
        if step % 60 == 0:
            print(f"step {step} mse {loss.item():.4f} aux {aux.item():.3f} held out {held_out:.4f}")
    bias = model.router.expert_bias
    print(f"EVIDENCE mean_aux={aux_sum:.4f} bias={[round(b, 3) for b in bias.tolist()]} mse={loss.item():.4f}")


if __name__ == "__main__":
    main()
