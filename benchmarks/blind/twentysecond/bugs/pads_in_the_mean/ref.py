"""A small text-to-spectrogram model: phones are stretched by their lengths, frames are regressed; batches are padded."""
import argparse

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

PHONES, MELS = 12, 10


class Corpus:
    def __init__(self):
        gen = torch.Generator().manual_seed(30)
        self.colour = 1.5 * torch.randn(PHONES, MELS, generator=gen)
        self.length = torch.randint(1, 5, (PHONES,), generator=gen)

    def utterance(self, gen):
        phones = torch.randint(1, PHONES, (int(torch.randint(2, 14, (), generator=gen)),), generator=gen)
        lengths = self.length[phones]
        frames = torch.cat([self.colour[p] * torch.linspace(0.6, 1.2, int(n))[:, None] for p, n in zip(phones, lengths)])
        return phones, lengths, frames + 0.1 * torch.randn(frames.shape, generator=gen)

    def batch(self, gen, size=16):
        rows = [self.utterance(gen) for _ in range(size)]
        phones, lengths, frames = (pad_sequence(x, batch_first=True) for x in zip(*rows))
        frame_mask = torch.arange(frames.shape[1])[None] < torch.tensor([len(r[2]) for r in rows])[:, None]
        return phones, lengths, frames, phones != 0, frame_mask


class Speaker(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(PHONES, width, padding_idx=0)
        self.encoder = nn.Conv1d(width, width, 3, padding=1)
        self.duration = nn.Linear(width, 1)
        self.decoder = nn.GRU(width + 1, width, batch_first=True)
        self.mel = nn.Linear(width, MELS)

    def forward(self, phones, lengths):
        h = torch.relu(self.encoder(self.embed(phones).transpose(1, 2)).transpose(1, 2))
        stretched = pad_sequence([torch.repeat_interleave(row, n, dim=0) for row, n in zip(h, lengths)], batch_first=True)
        within = pad_sequence([torch.cat([torch.arange(int(k)) / 4 for k in n if k]) for n in lengths], batch_first=True)
        out, _ = self.decoder(torch.cat([stretched, within[..., None]], dim=2))
        return self.mel(out), self.duration(h).squeeze(2)


def masked_mse(prediction, target, mask):
    """Mean over what is no padding."""
    if prediction.ndim == 3:
        mask = mask[..., None].expand_as(prediction)
    error = (prediction - target).pow(2) * mask
    return error.sum() / mask.sum()


def losses(model, batch):
    phones, lengths, frames, phone_mask, frame_mask = batch
    mel, duration = model(phones, lengths)
    return masked_mse(mel, frames, frame_mask), masked_mse(duration, torch.log1p(lengths.float()), phone_mask)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    corpus, gen = Corpus(), torch.Generator().manual_seed(args.seed)
    model = Speaker()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps, eta_min=args.lr / 10)
    norms = []
    for step in range(args.steps):
        mel_loss, duration_loss = losses(model, corpus.batch(gen))
        loss = mel_loss + 0.5 * duration_loss
        optimizer.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 5.0).item())
        optimizer.step()
        schedule.step()
        if step % 25 == 24:
            print(f"step {step + 1} mel {mel_loss.item():.4f} duration {duration_loss.item():.4f}")
    model.eval()
    test = torch.Generator().manual_seed(8)
    with torch.no_grad():
        alone = [losses(model, corpus.batch(test, 1)) for _ in range(60)]
    mel = sum(a.item() for a, _ in alone) / 60
    duration = sum(b.item() for _, b in alone) / 60
    print(f"EVIDENCE first_norm={norms[0]:.4f} batched={mel_loss.item():.4f} alone={mel:.4f} durations={duration:.4f}")


if __name__ == "__main__":
    main()
