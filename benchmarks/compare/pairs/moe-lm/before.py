"""Small mixture-of-experts language model on a synthetic character corpus."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 40
CONTEXT = 48


def make_corpus(n_tokens, seed):
    g = torch.Generator().manual_seed(1000 + seed)
    table = torch.randint(0, VOCAB, (VOCAB, 3), generator=g)
    tokens = torch.zeros(n_tokens, dtype=torch.long)
    tokens[0] = 7
    choice = torch.randint(0, 3, (n_tokens,), generator=g)
    for i in range(1, n_tokens):
        tokens[i] = table[tokens[i - 1], choice[i]]
    return tokens


class Experts(nn.Module):
    def __init__(self, dim, n_experts=4, top_k=2):
        super().__init__()
        self.top_k = top_k
        self.router = nn.Linear(dim, n_experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim)) for _ in range(n_experts)
        )

    def forward(self, x):
        gate, idx = self.router(x).softmax(-1).topk(self.top_k, dim=-1)
        gate = gate / gate.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            weight = (gate * (idx == e)).sum(-1, keepdim=True)
            out = out + weight * expert(x)
        return out


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.n1 = nn.LayerNorm(dim)
        self.n2 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.moe = Experts(dim)

    def forward(self, x, mask):
        h = self.n1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.moe(self.n2(x))


class MoeForCausalLM(nn.Module):
    def __init__(self, dim=48, layers=2, heads=4):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(CONTEXT, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, ids, labels=None):
        t = ids.shape[1]
        mask = torch.full((t, t), float("-inf")).triu(1)
        x = self.tok(ids) + self.pos(torch.arange(t))
        for block in self.blocks:
            x = block(x, mask)
        logits = self.head(self.norm(x))
        loss = None
        if labels is not None:
            shift_logits = logits[..., :-1, :].contiguous()
            shift_labels = labels[..., 1:].contiguous()
            shift_logits = shift_logits.view(-1, VOCAB)
            shift_labels = shift_labels.view(-1)
            loss = F.cross_entropy(shift_logits, shift_labels, ignore_index=-100)
        return loss, logits


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    corpus = make_corpus(20000, args.seed)
    model = MoeForCausalLM()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps)
    for step in range(args.steps):
        start = torch.randint(0, len(corpus) - CONTEXT, (16,))
        ids = torch.stack([corpus[s:s + CONTEXT] for s in start])
        loss, _ = model(ids, labels=ids)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
