"""Supervised tuning with a second head that predicts the token after the next (multi-token prediction)."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

VOCAB, PAD, ASK, END, WIDTH = 20, 0, 1, 2, 40


def recipe(gen):
    """A question of three amounts; the answer lists them doubled, in falling order, and ends."""
    amounts = torch.randint(0, 8, (3,), generator=gen)
    extra = int(torch.randint(0, 5, (), generator=gen))
    question = [ASK] + (3 + amounts).tolist()
    answer = (3 + (2 * amounts) % 17).sort(descending=True).values.tolist()
    answer = answer + answer[:extra] + [END]
    ids = torch.tensor(question + answer)
    taught = torch.tensor([0.0] * len(question) + [1.0] * len(answer))
    return ids, taught


def batch_of(gen, size):
    rows = [recipe(gen) for _ in range(size)]
    ids = pad_sequence([r[0] for r in rows], batch_first=True, padding_value=PAD)
    loss_mask = pad_sequence([r[1] for r in rows], batch_first=True)
    return ids, loss_mask


def roll(tensor, by=1):
    """Shift to the left; what comes in at the end is nought."""
    out = torch.roll(tensor, -by, dims=1)
    out[:, -by:] = 0
    return out


class Cook(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCAB, WIDTH), nn.Embedding(24, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.trunk = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.join = nn.Linear(2 * WIDTH, WIDTH)
        self.mtp_layer = nn.TransformerEncoderLayer(WIDTH, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, ids):
        t = ids.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(t)
        hidden = self.trunk(self.embed(ids) + self.place(torch.arange(t)), mask=causal, is_causal=True)
        ahead = self.join(torch.cat([hidden, self.embed(roll(ids))], dim=-1))
        ahead = self.mtp_layer(ahead, src_mask=causal, is_causal=True)
        return self.head(hidden), self.head(ahead)


def masked_mean(logits, labels, mask):
    per_token = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return (per_token * mask).sum() / mask.sum().clamp(min=1)


def losses(model, ids, loss_mask):
    """Position t of the trunk answers with token t + 1, the second head with token t + 2."""
    logits, mtp_logits = model(ids)
    labels, mask = roll(ids), roll(loss_mask)
    main = masked_mean(logits, labels, mask)
    mtp_labels, mtp_mask = roll(labels), roll(mask)
    mtp = masked_mean(mtp_logits, mtp_labels, mtp_mask)
    return main, mtp


@torch.no_grad()
def second_head(model, ids, loss_mask):
    """Accuracy of the second head at what it is for, and the share of pads that it proposes after the end."""
    guess = model(ids)[1].argmax(-1)
    target, wanted = roll(ids, 2), roll(loss_mask, 2) > 0
    first = wanted & (roll(wanted.float().flip(1)).flip(1) == 0)
    after_end = (roll(ids) == PAD)
    return (guess == target)[wanted].float().mean().item(), (guess == target)[first].float().mean().item(), \
        (guess[after_end] == PAD).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=110)
    ap.add_argument("--mtp-weight", type=float, default=0.3)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 3)
    model = Cook()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    for step in range(args.steps):
        ids, loss_mask = batch_of(gen, 24)
        main_loss, mtp_loss = losses(model, ids, loss_mask)
        loss = main_loss + args.mtp_weight * mtp_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        cosine.step()
        if step % 40 == 39:
            print(f"step {step + 1} main {main_loss.item():.4f} mtp {mtp_loss.item():.4f}")
    model.eval()
    wanted, first, pads = second_head(model, *batch_of(torch.Generator().manual_seed(99), 200))
    print(f"EVIDENCE mtp_loss={mtp_loss.item():.4f} drafts={wanted:.3f} first_drafts={first:.3f} pads_proposed={pads:.3f}")


if __name__ == "__main__":
    main()
