"""A small language model over texts of several domains, with top-2 experts in each block."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, CONTEXT, DOMAINS = 48, 24, 6


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--steps", type=int, default=260)
    p.add_argument("--aux", type=float, default=0.05)
    return p.parse_args()


class Corpus:
    """Each domain is a chain of words of its own; words follow Zipf's law, some domains are far more frequent."""

    def __init__(self, seed):
        self.rng = torch.Generator().manual_seed(seed)
        raw = torch.randn(DOMAINS, VOCAB, VOCAB, generator=torch.Generator().manual_seed(7))
        zipf = -1.6 * torch.log(torch.arange(1, VOCAB + 1).float())
        self.chain = F.softmax(2.0 * raw + zipf, dim=-1)
        self.share = torch.tensor([0.5, 0.2, 0.12, 0.08, 0.06, 0.04])

    def batch(self, n):
        domain = torch.multinomial(self.share, n, replacement=True, generator=self.rng)
        word = torch.randint(0, VOCAB, (n,), generator=self.rng)
        words = [word]
        for _ in range(CONTEXT):
            word = torch.multinomial(self.chain[domain, word], 1, generator=self.rng).squeeze(1)
            words.append(word)
        return torch.stack(words, dim=1)


class Expert(nn.Sequential):
    def __init__(self, dim, hidden):
        super().__init__(nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, dim))


class SparseMLP(nn.Module):
    def __init__(self, dim, hidden=32, n_experts=8, k=2, capacity=1.25):
        super().__init__()
        self.k, self.n_experts, self.capacity = k, n_experts, capacity
        self.router = nn.Linear(dim, n_experts)
        nn.init.orthogonal_(self.router.weight, gain=2.0)
        nn.init.normal_(self.router.bias)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(n_experts))
        self.aux = None
        self.register_buffer("load", torch.zeros(n_experts), persistent=False)

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        scores = F.softmax(self.router(x), dim=-1)
        weight, chosen = scores.topk(self.k, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)
        room = int(self.capacity * self.k * len(x) / self.n_experts)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            row, slot = torch.where(chosen == i)
            row, slot = row[:room], slot[:room]  # what is beyond the capacity passes by
            if row.numel():
                out.index_add_(0, row, weight[row, slot, None] * expert(x[row]))
        counts = torch.bincount(chosen.flatten(), minlength=self.n_experts).float()
        self.load = counts / counts.sum()
        self.dropped = (counts - room).clamp(min=0).sum() / counts.sum()
        self.aux = self.balance_loss(self.load, scores, weight)
        return out.reshape(shape)

    def balance_loss(self, fraction, scores, weight):
        mean_score = weight.mean(dim=0)
        return self.n_experts * (fraction[:, None] * mean_score).sum()


class Block(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.heads = heads
        self.moe = SparseMLP(dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.moe(self.norm2(x))


class MoELM(nn.Module):
    def __init__(self, dim=48, depth=2):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, dim), nn.Embedding(CONTEXT, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, VOCAB, bias=False)

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight[: ids.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def aux_loss(self):
        return sum(block.moe.aux for block in self.blocks) / len(self.blocks)


def main():
    args = get_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    corpus = Corpus(args.seed + 1)
    model = MoELM()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for step in range(args.steps):
        ids = corpus.batch(24)
        logits = model(ids[:, :-1])
        ce = F.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
        loss = ce + args.aux * model.aux_loss()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 50 == 0:
            print(f"step {step}: {loss.item():.3f}")

    model.eval()
    held_out = Corpus(991).batch(200)
    with torch.no_grad():
        ce = F.cross_entropy(model(held_out[:, :-1]).reshape(-1, VOCAB), held_out[:, 1:].reshape(-1))
    busiest = max(block.moe.load.max().item() for block in model.blocks)
    laziest = min(block.moe.load.min().item() for block in model.blocks)
    dropped = sum(block.moe.dropped.item() for block in model.blocks) / len(model.blocks)
    print(f"EVIDENCE held-out {ce.item():.3f} busiest expert {busiest:.3f} laziest {laziest:.4f} beyond capacity {dropped:.3f}")


if __name__ == "__main__":
    main()
