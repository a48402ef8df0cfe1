"""Phoneme recogniser: conv subsampling + BiGRU + CTC on synthetic filterbank features."""
import argparse

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

N_MELS, N_PHONES, BLANK = 16, 8, 0


class SynthSpeech(Dataset):
    """Every phone has a spectral template, lasts 4 to 7 frames, and is followed by a short dip."""

    def __init__(self, n, templates, gen):
        self.items = []
        for _ in range(n):
            k = int(torch.randint(3, 7, (1,), generator=gen))
            phones = torch.randint(1, N_PHONES + 1, (k,), generator=gen)
            segs = []
            for ph in phones:
                dur = int(torch.randint(4, 8, (1,), generator=gen))
                segs.append(templates[ph].expand(dur, -1))
                segs.append(templates[0].expand(2, -1))
            feats = torch.cat(segs)
            feats = feats + 0.35 * torch.randn(feats.shape, generator=gen)
            self.items.append((feats, phones))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    batch = sorted(batch, key=lambda b: -len(b[0]))
    feats = pad_sequence([f for f, _ in batch], batch_first=True)
    flen = torch.tensor([len(f) for f, _ in batch])
    targets = torch.cat([t for _, t in batch])
    tlen = torch.tensor([len(t) for _, t in batch])
    return feats, flen, targets, tlen


class Recognizer(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.conv = nn.Conv1d(N_MELS, hidden, kernel_size=3, stride=2, padding=1)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.norm = nn.LayerNorm(2 * hidden)
        self.head = nn.Linear(2 * hidden, N_PHONES + 1)

    def forward(self, feats, flen):
        h = torch.relu(self.conv(feats.transpose(1, 2))).transpose(1, 2)
        olen = (flen + 1) // 2
        packed = pack_padded_sequence(h, olen, batch_first=True, enforce_sorted=True)
        h, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.head(self.norm(h)), olen


class CTCCriterion(nn.Module):
    def __init__(self):
        super().__init__()
        self.ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)

    def forward(self, logits, olen, targets, tlen):
        n, t, c = logits.shape
        log_probs = logits.log_softmax(-1)
        log_probs = log_probs.reshape(t, n, c)  # CTCLoss wants (T, N, C)
        return self.ctc(log_probs, targets, olen, tlen)


def greedy(logits, olen):
    hyps = []
    for row, n in zip(logits.argmax(-1), olen):
        path = torch.unique_consecutive(row[:n])
        hyps.append([p for p in path.tolist() if p != BLANK])
    return hyps


def edit_distance(a, b):
    d = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, d[0] = d[0], i
        for j, y in enumerate(b, 1):
            prev, d[j] = d[j], min(d[j] + 1, d[j - 1] + 1, prev + (x != y))
    return d[-1]


@torch.no_grad()
def evaluate(model, crit, loader):
    model.eval()
    loss = errs = total = 0
    for feats, flen, targets, tlen in loader:
        logits, olen = model(feats, flen)
        loss += crit(logits, olen, targets, tlen).item()
        refs = [r.tolist() for r in targets.split(tlen.tolist())]
        for h, r in zip(greedy(logits, olen), refs):
            errs += edit_distance(h, r)
            total += len(r)
    model.train()
    return loss / len(loader), errs / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    templates = torch.randn(N_PHONES + 1, N_MELS, generator=gen)
    train = DataLoader(SynthSpeech(480, templates, gen), batch_size=16, shuffle=True,
                       collate_fn=collate, drop_last=True)
    valid = DataLoader(SynthSpeech(96, templates, gen), batch_size=16, collate_fn=collate)

    model, crit = Recognizer(), CTCCriterion()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=args.lr, total_steps=args.steps, pct_start=0.2)
    it = iter(train)
    for step in range(1, args.steps + 1):
        try:
            batch = next(it)
        except StopIteration:
            it = iter(train)
            batch = next(it)
        feats, flen, targets, tlen = batch
        opt.zero_grad()
        logits, olen = model(feats, flen)
        loss = crit(logits, olen, targets, tlen)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        sched.step()
        if step % 30 == 0:
            vloss, per = evaluate(model, crit, valid)
            print(f"[{step:4d}] loss {loss.item():.3f} valid {vloss:.3f} PER {per:.3f}")

    vloss, per = evaluate(model, crit, valid)
    print(f"EVIDENCE valid_loss={vloss:.4f} per={per:.4f}")


if __name__ == "__main__":
    main()
