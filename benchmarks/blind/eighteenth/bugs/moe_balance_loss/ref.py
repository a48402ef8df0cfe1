"""Tiny mixture-of-experts language model, top-1 routing with an auxiliary load-balancing loss."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 40
LENGTH = 16
EXPERTS = 8
DOMAINS = 6


class AttachAuxLoss(torch.autograd.Function):
    """Identity in the forward pass; sends the gradient of `aux_loss` along in the backward pass."""

    @staticmethod
    def forward(ctx, weights, aux_loss):
        ctx.scale = torch.ones_like(aux_loss)
        return weights.view_as(weights)

    @staticmethod
    def backward(ctx, grad_weights):
        return grad_weights, ctx.scale


class Router(nn.Module):
    def __init__(self, dim, experts, aux_coef):
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False)
        self.aux_coef = aux_coef
        self.load = None

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        weights, chosen = probs.max(-1)
        load = F.one_hot(chosen, probs.size(-1)).float().mean(0)
        self.load = load.detach()
        if self.training and self.aux_coef > 0:
            aux_loss = self.aux_coef * probs.size(-1) * (load * probs.mean(0)).sum()
            weights = AttachAuxLoss.apply(weights, aux_loss)
        return weights, chosen


class MoE(nn.Module):
    def __init__(self, dim, hidden, experts, aux_coef):
        super().__init__()
        self.router = Router(dim, experts, aux_coef)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim)) for _ in range(experts))

    def forward(self, x):
        flat = x.reshape(-1, x.size(-1))
        weights, chosen = self.router(flat)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            rows = (chosen == i).nonzero().squeeze(1)
            if rows.numel():
                out = out.index_add(0, rows, expert(flat[rows]) * weights[rows].unsqueeze(1))
        return out.view_as(x)


class MoELM(nn.Module):
    def __init__(self, dim=32, hidden=24, aux_coef=0.05):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.dom = nn.Embedding(DOMAINS, dim)
        self.norm = nn.LayerNorm(dim)
        self.moe = MoE(dim, hidden, EXPERTS, aux_coef)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids, domain):
        x = self.tok(ids) + self.dom(domain).unsqueeze(1)
        x = x + self.moe(self.norm(x))
        return self.head(x)


class Corpus:
    """Every domain maps a token to its successor by a permutation of its own."""

    def __init__(self):
        gen = torch.Generator().manual_seed(5)
        self.table = torch.stack([torch.randperm(VOCAB, generator=gen) for _ in range(DOMAINS)])
        self.share = torch.tensor([0.55, 0.2, 0.1, 0.05, 0.05, 0.05])

    def sample(self, n, gen):
        domain = torch.multinomial(self.share, n, replacement=True, generator=gen)
        ids = torch.randint(VOCAB, (n, 1), generator=gen)
        for _ in range(LENGTH):
            nxt = self.table[domain, ids[:, -1]]
            noise = torch.rand(n, generator=gen) < 0.1
            ids = torch.cat([ids, torch.where(noise, torch.randint(VOCAB, (n,), generator=gen), nxt)[:, None]], 1)
        return ids, domain


def lm_loss(model, ids, domain):
    logits = model(ids[:, :-1], domain)
    return F.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--aux_coef", type=float, default=0.05)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    corpus = Corpus()
    val_ids, val_domain = corpus.sample(256, torch.Generator().manual_seed(123))

    model = MoELM(aux_coef=args.aux_coef)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for step in range(args.steps):
        ids, domain = corpus.sample(48, gen)
        loss = lm_loss(model, ids, domain)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.4f} busiest expert {model.moe.router.load.max().item():.2f}")

    model.eval()
    with torch.no_grad():
        val = lm_loss(model, val_ids, val_domain).item()
    load = model.moe.router.load
    print(f"EVIDENCE val_loss={val:.4f} busiest={load.max().item():.3f} idle={(load < 0.02).sum().item()}")


if __name__ == "__main__":
    main()
