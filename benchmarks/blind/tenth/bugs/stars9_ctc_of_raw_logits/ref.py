"""Strings of tones are written down: a small convolutional network and CTC, with a greedy decoder."""
import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=100)
TONES, BANDS, BLANK = 6, 12, 0


class Acoustic(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(BANDS, hidden, 5, stride=2, padding=2), nn.ReLU(),
                                   nn.Conv1d(hidden, hidden, 3, padding=1), nn.ReLU())
        self.rnn = nn.GRU(hidden, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, TONES + 1)

    def forward(self, spectra, lengths):
        x = self.front(spectra.transpose(1, 2)).transpose(1, 2)
        x, _ = self.rnn(x)
        return self.out(x), (lengths + 1) // 2


class Corpus:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.shapes = torch.randn(TONES + 1, BANDS, generator=torch.Generator().manual_seed(5))
        self.shapes[0] = 0

    def integer(self, low, high):
        return int(torch.randint(low, high, (), generator=self.generator))

    def utterance(self):
        text = torch.randint(1, TONES + 1, (self.integer(2, 6),), generator=self.generator)
        frames = [self.shapes[0].repeat(2, 1)]
        for tone in text:
            frames += [self.shapes[tone].repeat(self.integer(4, 8), 1), self.shapes[0].repeat(self.integer(2, 5), 1)]
        spectrum = torch.cat(frames)
        return spectrum + 0.5 * torch.randn(spectrum.shape, generator=self.generator), text

    def batch(self, count):
        pairs = [self.utterance() for _ in range(count)]
        spectra = pad_sequence([s for s, _ in pairs], batch_first=True)
        lengths = torch.tensor([len(s) for s, _ in pairs])
        sizes = torch.tensor([len(t) for _, t in pairs])
        return spectra, lengths, torch.cat([t for _, t in pairs]), sizes


def decode(path):
    merged = torch.unique_consecutive(path)
    return merged[merged != BLANK].tolist()


@torch.no_grad()
def right_texts(model, corpus, count=100):
    model.eval()
    spectra, lengths, texts, sizes = corpus.batch(count)
    logits, frames = model(spectra, lengths)
    model.train()
    right = 0
    for row, text in enumerate(texts.split(sizes.tolist())):
        right += decode(logits[row, :frames[row]].argmax(1)) == text.tolist()
    return right / count


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    corpus, held_out = Corpus(args.seed), Corpus(args.seed + 999)
    model = Acoustic()
    ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        spectra, lengths, texts, sizes = corpus.batch(24)
        logits, frames = model(spectra, lengths)
        log_probs = logits.log_softmax(-1).transpose(0, 1)
        loss = ctc(log_probs, texts, frames, sizes)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    print(f"EVIDENCE last loss {loss.item():.4f}, texts without a mistake {right_texts(model, held_out):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
