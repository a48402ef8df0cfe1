"""Low-rank adaptation of a small causal transformer, then export of a merged model."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 24
SEQ = 24


class LoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.rank = rank
        self.alpha = alpha
        self.scaling = alpha / rank
        self.lora_a = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))

    def forward(self, x):
        delta = F.linear(F.linear(x, self.lora_a), self.lora_b)
        return self.base(x) + self.scaling * delta

    @torch.no_grad()
    def merge(self):
        merged = copy.deepcopy(self.base)
        merged.weight += self.scaling * (self.lora_b @ self.lora_a)
        return merged


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class Transformer(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(SEQ, dim)
        self.blocks = nn.ModuleList([Block(dim, 4) for _ in range(2)])
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        for blk in self.blocks:
            x = blk(x)
        return self.head(self.ln(x))


def replace_linears(model, fn, kind):
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is kind and name in ("qkv", "proj", "up", "down"):
                setattr(module, name, fn(child))
    return model


def sample_chain(n, step, gen):
    """Arithmetic sequences modulo VOCAB with some noise."""
    start = torch.randint(0, VOCAB, (n, 1), generator=gen)
    seq = (start + step * torch.arange(SEQ)) % VOCAB
    noise = torch.rand(seq.shape, generator=gen) < 0.03
    return torch.where(noise, torch.randint(0, VOCAB, seq.shape, generator=gen), seq)


def lm_loss(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))


def fit(model, params, step_size, args, gen, steps, tag):
    opt = torch.optim.AdamW(params, lr=args.lr, weight_decay=0.0)
    for i in range(steps):
        loss = lm_loss(model, sample_chain(32, step_size, gen))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 20 == 0:
            print(f"{tag} {i} loss {loss.item():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=90)
    ap.add_argument("--rank", type=int, default=4)
    ap.add_argument("--alpha", type=float, default=16.0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)

    model = Transformer()
    fit(model, model.parameters(), 1, args, gen, args.steps, "pretrain")
    for p in model.parameters():
        p.requires_grad_(False)

    replace_linears(model, lambda m: LoRALinear(m, args.rank, args.alpha), nn.Linear)
    trainable = [p for p in model.parameters() if p.requires_grad]
    print("trainable parameters:", sum(p.numel() for p in trainable))
    fit(model, trainable, 5, args, gen, args.steps, "adapt")

    exported = replace_linears(copy.deepcopy(model), lambda m: m.merge(), LoRALinear)
    exported.eval()
    with torch.no_grad():
        test = sample_chain(128, 5, gen)
        loss = lm_loss(exported, test).item()
    print(f"EVIDENCE exported_test_loss={loss:.4f}")


if __name__ == "__main__":
    main()
