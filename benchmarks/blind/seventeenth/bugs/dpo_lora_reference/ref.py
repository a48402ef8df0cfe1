"""Direct preference optimisation of a small LM through low-rank adapters.

The frozen base model is the reference: its log-probabilities are taken with adapters switched off.
"""
import argparse
import contextlib
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 20
PROMPT = 4
ANSWER = 6
T = PROMPT + ANSWER


class TiedEmbedding(nn.Embedding):
    """Token embedding that also gives the output logits."""

    def attend(self, h):
        return F.linear(h, self.weight)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        self.scaling = alpha / rank
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / rank)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.enabled = True

    def forward(self, x):
        out = self.base(x)
        if self.enabled:
            out = out + self.scaling * (x @ self.a.T @ self.b.T)
        return out


class LoRAEmbedding(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        self.scaling = alpha / rank
        self.a = nn.Parameter(torch.zeros(base.num_embeddings, rank))
        self.b = nn.Parameter(torch.randn(rank, base.embedding_dim) / rank)
        self.enabled = True

    def forward(self, ids):
        out = self.base(ids)
        if self.enabled:
            out = out + self.scaling * (self.a[ids] @ self.b)
        return out

    def attend(self, h):
        out = self.base.attend(h)
        if self.enabled:
            out = out + self.scaling * (h @ self.b.T @ self.a.T)
        return out


class Lm(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = TiedEmbedding(VOCAB, dim)
        nn.init.normal_(self.emb.weight, std=0.1)
        self.pos = nn.Parameter(torch.randn(T, dim) * 0.02)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp_in = nn.Linear(dim, 128)
        self.mlp_out = nn.Linear(128, dim)
        self.ln1, self.ln2, self.ln3 = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, ids):
        x = self.emb(ids) + self.pos[:ids.size(1)]
        q, k, v = self.qkv(self.ln1(x)).chunk(3, dim=-1)
        y = F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], is_causal=True)
        x = x + self.proj(y[:, 0])
        x = x + self.mlp_out(F.gelu(self.mlp_in(self.ln2(x))))
        return self.emb.attend(self.ln3(x))


def add_adapters(model):
    model.requires_grad_(False)
    model.emb = LoRAEmbedding(model.emb)
    for name in ("qkv", "proj"):
        setattr(model, name, LoRALinear(getattr(model, name)))
    return [p for p in model.parameters() if p.requires_grad]


@contextlib.contextmanager
def adapters_disabled(model):
    adapters = [m for m in model.modules() if isinstance(m, (LoRALinear, LoRAEmbedding))]
    for m in adapters:
        m.enabled = False
    try:
        yield
    finally:
        for m in adapters:
            m.enabled = True


def base_corpus(n, gen):
    prompt = torch.randint(2, VOCAB, (n, PROMPT), generator=gen)
    answer = prompt[:, :1].repeat(1, ANSWER)
    noise = torch.rand(answer.shape, generator=gen) < 0.5
    answer = torch.where(noise, torch.randint(0, VOCAB, answer.shape, generator=gen), answer)
    return torch.cat([prompt, answer], dim=1)


def preference_pairs(n, gen):
    """Raters like answers with small tokens."""
    a = base_corpus(n, gen)
    b = torch.cat([a[:, :PROMPT], base_corpus(n, gen)[:, PROMPT:]], dim=1)
    better = a[:, PROMPT:].sum(1) < b[:, PROMPT:].sum(1)
    chosen = torch.where(better[:, None], a, b)
    rejected = torch.where(better[:, None], b, a)
    return chosen, rejected


def answer_logps(model, ids):
    logps = F.log_softmax(model(ids[:, :-1]), dim=-1)
    picked = logps.gather(2, ids[:, 1:, None]).squeeze(2)
    return picked[:, PROMPT - 1:].sum(1)


def dpo_loss(model, chosen, rejected, beta):
    policy_margin = answer_logps(model, chosen) - answer_logps(model, rejected)
    with torch.no_grad(), adapters_disabled(model):
        ref_margin = answer_logps(model, chosen) - answer_logps(model, rejected)
    logits = beta * (policy_margin - ref_margin)
    return -F.logsigmoid(logits).mean(), logits.detach()


@torch.no_grad()
def report(model, base, gen, beta):
    chosen, rejected = preference_pairs(512, gen)
    margin = answer_logps(model, chosen) - answer_logps(model, rejected)
    base_margin = answer_logps(base, chosen) - answer_logps(base, rejected)
    gain = beta * (margin - base_margin)
    lp, lq = F.log_softmax(model(chosen), -1), F.log_softmax(base(chosen), -1)
    kl = (lp.exp() * (lp - lq)).sum(-1)[:, PROMPT - 1:-1].sum(1).mean().item()
    return -F.logsigmoid(gain).mean().item(), (gain > 0).float().mean().item(), kl


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=80)
    ap.add_argument("--beta", type=float, default=0.3)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)

    model = Lm()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(100):
        ids = base_corpus(64, gen)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"base loss {loss.item():.4f}")
    base = copy.deepcopy(model).eval().requires_grad_(False)

    trainable = add_adapters(model)
    opt = torch.optim.AdamW(trainable, lr=args.lr, weight_decay=0.0)
    for step in range(args.steps):
        chosen, rejected = preference_pairs(32, gen)
        loss, rewards = dpo_loss(model, chosen, rejected, args.beta)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            print(f"step {step} dpo {loss.item():.4f} margin {rewards.mean().item():.4f}")

    true_loss, acc, kl = report(model, base, gen, args.beta)
    print(f"EVIDENCE dpo_loss_vs_base={true_loss:.4f} reward_acc={acc:.4f} kl_to_base={kl:.4f}")


if __name__ == "__main__":
    main()
