"""Continual pre-training: the rate decays on the first corpus, is warmed up again for the second one, and old text is replayed."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ = 24, 12


class LM(nn.Module):
    def __init__(self, dim=56):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCAB, dim), nn.Embedding(SEQ, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, VOCAB)
        self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(SEQ))

    def forward(self, ids):
        n = ids.shape[1]
        x = self.embed(ids) + self.place(torch.arange(n))
        return self.head(self.body(x, mask=self.causal[:n, :n], is_causal=True))


def corpus(kind, count, gen):
    start = torch.randint(0, VOCAB, (count, 1), generator=gen)
    stride = torch.randint(1, 4, (count, 1), generator=gen)
    return (start + (stride if kind == "first" else -stride - 4) * torch.arange(SEQ)) % VOCAB


def rate(step, steps, peak, floor=0.1, warmup=6):
    """Twice the same shape: up, and down along a cosine to a tenth."""
    half = max(1, steps // 2)
    place, length = (step, half) if step < half else (step - half, max(1, steps - half))
    if place < warmup:
        return peak * (place + 1) / warmup
    progress = (place - warmup) / max(1, length - warmup)
    return peak * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))


def loss_on(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=90)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = LM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, args.steps, args.lr)
        if step < args.steps // 2:
            ids = corpus("first", 24, gen)
        else:
            ids = torch.cat([corpus("second", 20, gen), corpus("first", 4, gen)])
        loss = loss_on(model, ids)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 15 == 0 or step == args.steps - 1:
            print(f"step {step} lr {optimizer.param_groups[0]['lr']:.2e} loss {loss.item():.4f}")
    with torch.no_grad():
        print({kind: round(loss_on(model, corpus(kind, 128, gen)).item(), 4) for kind in ("first", "second")})


if __name__ == "__main__":
    main()
