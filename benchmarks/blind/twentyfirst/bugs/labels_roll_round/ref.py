"""A language model with a second head that predicts the token after the next one from the trunk and the next token."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, IGNORE = 18, 20, -100


def corpus_batch(n, gen):
    """Each row counts up from a drawn start with a drawn stride; some tokens are noise."""
    start = torch.randint(0, VOCAB, (n, 1), generator=gen)
    stride = torch.randint(1, 5, (n, 1), generator=gen)
    ids = (start + stride * torch.arange(LENGTH)) % VOCAB
    noise = torch.rand(n, LENGTH, generator=gen) < 0.05
    return torch.where(noise, torch.randint(0, VOCAB, (n, LENGTH), generator=gen), ids)


def roll_left(x, fill):
    rolled = torch.roll(x, -1, dims=1)
    rolled[:, -1] = fill
    return rolled


class Trunk(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        return self.norm(self.rnn(self.embed(ids))[0])


class MultiTokenLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.trunk = Trunk(dim)
        self.join = nn.Linear(2 * dim, dim)
        self.mtp = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        hidden = self.trunk(ids)
        ahead = self.trunk.embed(roll_left(ids, 0))
        deeper, _ = self.mtp(torch.tanh(self.join(torch.cat([hidden, ahead], -1))))
        return self.lm_head(hidden), self.lm_head(deeper)


def token_loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)


def multi_token_loss(main_logits, mtp_logits, ids, mtp_weight=0.3):
    labels = roll_left(ids, IGNORE)
    main = token_loss(main_logits, labels)
    mtp_labels = roll_left(labels, IGNORE)
    mtp = token_loss(mtp_logits, mtp_labels)
    return main + mtp_weight * mtp, main, mtp


@torch.no_grad()
def second_token_accuracy(model, gen):
    ids = corpus_batch(256, gen)
    guess = model(ids)[1].argmax(-1)
    return (guess[:, 4:-2] == ids[:, 6:]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=250)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = MultiTokenLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps, eta_min=0.1 * args.lr)
    for step in range(args.steps):
        ids = corpus_batch(32, gen)
        loss, main_part, mtp_part = multi_token_loss(*model(ids), ids)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        plan.step()
        if step % 50 == 0:
            print(f"step {step} next {main_part.item():.4f} second {mtp_part.item():.4f}")
    score = second_token_accuracy(model, torch.Generator().manual_seed(8))
    print(f"EVIDENCE second_token_accuracy={score:.3f} next={main_part.item():.4f} second={mtp_part.item():.4f}")


if __name__ == "__main__":
    main()
