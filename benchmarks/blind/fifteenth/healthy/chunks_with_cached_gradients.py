"""Question/passage retrieval with a batch far larger than what fits: GradCache in chunks of changing size.

Representations come from a pass without a graph, the loss gives gradients for representations only, then
each chunk runs again under the same dropout and gets its share of them.
"""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, TOPICS = 400, 60


class RandomState:
    """Remembers torch's generator so that a second pass drops the same units."""

    def __init__(self):
        self.state = torch.get_rng_state()

    def __enter__(self):
        self.fork = torch.random.fork_rng(devices=[])
        self.fork.__enter__()
        torch.set_rng_state(self.state)

    def __exit__(self, *exc):
        self.fork.__exit__(*exc)


class Encoder(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.words = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.mix = nn.Sequential(nn.Linear(dim, 96), nn.GELU(), nn.Dropout(0.15), nn.Linear(96, dim))
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        mask = (ids > 0).float().unsqueeze(-1)
        h = self.words(ids)
        h = self.norm(h + self.mix(h))
        return F.normalize((h * mask).sum(1) / mask.sum(1), dim=-1)


def make_pairs(n, gen, profile):
    topic = torch.randint(0, TOPICS, (n,), generator=gen)
    def text(length):
        ids = torch.multinomial(profile[topic], length, replacement=True, generator=gen) + 1
        keep = torch.randint(length // 2, length + 1, (n, 1), generator=gen)
        return ids.masked_fill(torch.arange(length) >= keep, 0)
    return text(8), text(20), topic


def chunk_sizes(total, gen):
    """The allocator's mood: chunks are 8 to 48 rows."""
    sizes = []
    while total:
        size = min(total, int(torch.randint(8, 49, (1,), generator=gen)))
        sizes.append(size)
        total -= size
    return sizes


def cached_step(model, tower_inputs, scale, gen):
    reps, states, chunks = [], [], []
    for ids in tower_inputs:
        parts = ids.split(chunk_sizes(len(ids), gen))
        rows = []
        for part in parts:
            states.append(RandomState())
            with torch.no_grad():
                rows.append(model(part))
        chunks.append(parts)
        reps.append(torch.cat(rows).requires_grad_())
    logits = reps[0] @ reps[1].t() * scale.exp()
    target = torch.arange(len(logits))
    loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
    loss.backward()  # reaches representations and the scale, nothing else
    states = iter(states)
    for rep, parts in zip(reps, chunks):
        for part, grad in zip(parts, rep.grad.split([len(p) for p in parts])):
            with next(states):
                again = model(part)
            (again * grad).sum().backward()
    return loss.item()


@torch.no_grad()
def recall(model, queries, passages, topic):
    model.eval()
    best = (model(queries) @ model(passages).t()).argmax(1)
    model.train()
    return (topic[best] == topic).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 9)
    profile = torch.rand(TOPICS, VOCAB - 1, generator=gen).pow(60)
    test = make_pairs(600, gen, profile)

    model = Encoder()
    scale = nn.Parameter(torch.tensor(2.5))
    opt = torch.optim.AdamW(
        [{"params": model.parameters()}, {"params": [scale], "lr": args.lr * 3, "weight_decay": 0.0}], lr=args.lr
    )
    warm = max(1, args.steps // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / warm))
    for step in range(args.steps):
        # the batch grows once, in the middle
        q, p, _ = make_pairs(128 if step < args.steps // 2 else 224, gen, profile)
        opt.zero_grad(set_to_none=True)
        loss = cached_step(model, (q, p), scale, gen)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        schedule.step()
        with torch.no_grad():
            scale.clamp_(max=4.0)
        if step % 20 == 0:
            print(f"{step:4d}  loss {loss:.4f}  scale {scale.exp().item():.2f}")
    print(f"EVIDENCE topic recall at one {recall(model, *test):.4f}")


if __name__ == "__main__":
    main()
