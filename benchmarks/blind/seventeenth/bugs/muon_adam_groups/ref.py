"""Small causal transformer: hidden matrices with Muon, everything else with AdamW."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 40
CONTEXT = 24


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.attn = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim, bias=False), nn.SiLU(),
                                 nn.Linear(2 * dim, dim, bias=False))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, dim=48, depth=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.position = nn.Embedding(CONTEXT, dim)
        self.blocks = nn.ModuleList([Layer(dim, 4) for _ in range(depth)])
        self.norm = nn.RMSNorm(dim)
        self.lm_head = nn.Linear(dim, VOCAB, bias=False)
        nn.init.normal_(self.embed.weight, std=0.1)
        nn.init.normal_(self.position.weight, std=0.1)

    def forward(self, ids):
        x = self.embed(ids) + self.position(torch.arange(ids.size(1)))
        for layer in self.blocks:
            x = layer(x)
        return self.lm_head(self.norm(x))


def build_optimizers(model, lr, muon_lr):
    muon_params, adam_params = [], []
    for name, p in model.named_parameters():
        if p.ndim == 2 and name.startswith("blocks."):
            muon_params.append(p)
        else:
            adam_params.append(p)
    muon = torch.optim.Muon(muon_params, lr=muon_lr, momentum=0.95, weight_decay=0.01)
    adam = torch.optim.AdamW(adam_params, lr=lr, betas=(0.9, 0.95), weight_decay=0.01)
    return [muon, adam]


class MarkovText:
    """Second-order chain with a fixed random table."""

    def __init__(self, seed):
        g = torch.Generator().manual_seed(seed)
        self.next = torch.randint(0, VOCAB, (VOCAB, 4), generator=g)
        self.gen = torch.Generator().manual_seed(seed + 1)

    def sample(self, n):
        ids = [torch.randint(0, VOCAB, (n,), generator=self.gen) for _ in range(2)]
        for _ in range(CONTEXT - 1):
            branch = (ids[-2] + torch.randint(0, 2, (n,), generator=self.gen)) % 4
            ids.append(self.next[ids[-1], branch])
        return torch.stack(ids, dim=1)


def loss_fn(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=8e-3)
    ap.add_argument("--muon-lr", type=float, default=2e-2)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--batch", type=int, default=24)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    text = MarkovText(args.seed)
    model = Transformer()
    optimizers = build_optimizers(model, args.lr, args.muon_lr)
    schedulers = [torch.optim.lr_scheduler.CosineAnnealingLR(o, args.steps) for o in optimizers]
    for step in range(args.steps):
        loss = loss_fn(model, text.sample(args.batch))
        for o in optimizers:
            o.zero_grad()
        loss.backward()
        for o, s in zip(optimizers, schedulers):
            o.step()
            s.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")

    model.eval()
    with torch.no_grad():
        valid = loss_fn(model, text.sample(256)).item()
    print(f"EVIDENCE valid_loss={valid:.4f}")


if __name__ == "__main__":
    main()
