"""Masked diffusion language model (as LLaDA): no causal mask, labels are not shifted, loss weighted by 1/t."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 24
MASK = VOCAB
SEQ = 16


class Denoiser(nn.Module):
    def __init__(self, dim=64, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB + 1, dim)
        self.pos = nn.Parameter(torch.randn(SEQ, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 3 * dim, dropout=0.0, batch_first=True, norm_first=True,
                                           activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.out(self.encoder(self.tok(ids) + self.pos))


TOPICS = torch.randint(VOCAB, (8, SEQ), generator=torch.Generator().manual_seed(42))


def sample_text(gen, size):
    """Every row follows one of eight stock phrases, with a few random words in it."""
    ids = TOPICS[torch.randint(8, (size,), generator=gen)]
    noise = torch.rand(ids.shape, generator=gen) < 0.05
    return torch.where(noise, torch.randint(VOCAB, ids.shape, generator=gen), ids)


def corrupt(ids, gen):
    t = torch.rand(ids.size(0), 1, generator=gen) * 0.95 + 0.05
    hit = torch.rand(ids.shape, generator=gen) < t
    return torch.where(hit, torch.full_like(ids, MASK), ids), hit, t


def diffusion_loss(model, ids, gen):
    noisy, hit, t = corrupt(ids, gen)
    nll = F.cross_entropy(model(noisy).transpose(1, 2), ids, reduction="none")
    # the ELBO divides by the expected number of tokens, not by the number of masked ones
    return (nll * hit / t).sum() / ids.numel()


@torch.no_grad()
def fill_in(model, ids, keep):
    """Reveals the most certain position again and again."""
    work = ids.clone()
    work[~keep] = MASK
    for _ in range(int((~keep).sum(1).max())):
        prob, guess = model(work).softmax(-1).max(-1)
        prob = prob.masked_fill(work != MASK, -1.0)
        where = prob.argmax(1, keepdim=True)
        open_ = work.gather(1, where) == MASK
        work.scatter_(1, where, torch.where(open_, guess.gather(1, where), work.gather(1, where)))
    return work


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Denoiser()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.steps, pct_start=0.15)
    for step in range(args.steps):
        loss = diffusion_loss(model, sample_text(gen, 48), gen)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 30 == 0:
            print(f"step {step} elbo {loss.item():.4f}")
    model.eval()
    ids = sample_text(gen, 128)
    keep = torch.rand(ids.shape, generator=gen) < 0.4
    keep[:, :2] = True
    done = fill_in(model, ids, keep)
    acc = (done == ids)[~keep].float().mean().item()
    print(f"EVIDENCE infill_accuracy={acc:.3f}")


if __name__ == "__main__":
    main()
