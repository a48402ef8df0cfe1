"""A melody model: chord embeddings are put before the notes, the next note is to be predicted."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

N_CHORDS = 6
N_NOTES = 24
PREFIX = 2
BARS = 16


def causal_lm_loss(logits, labels, vocab_size, ignore_index=-100):
    """Position t predicts label t + 1: shifts here, callers hand over aligned tensors."""
    logits = logits.float().view(-1, vocab_size)
    labels = F.pad(labels.reshape(-1), (0, 1), value=ignore_index)[1:]
    return F.cross_entropy(logits, labels, ignore_index=ignore_index)


class MelodyModel(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.chord = nn.Embedding(N_CHORDS, width)
        self.note = nn.Embedding(N_NOTES, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, N_NOTES)

    def forward(self, chords, notes, labels=None):
        x = torch.cat([self.chord(chords), self.note(notes)], dim=1)
        hidden, _ = self.rnn(x)
        logits = self.head(hidden)
        loss = None
        if labels is not None:
            labels = labels.clone()
            labels[:, 0] = -100  # no note of this row comes before the first one
            note_logits = logits[:, PREFIX:].contiguous()
            loss = causal_lm_loss(note_logits, labels, N_NOTES)
        return logits, loss


class Songbook:
    """Melodies walk: the step from a note to the next one is set by chord and by the note's parity."""

    def __init__(self):
        gen = torch.Generator().manual_seed(11)
        self.steps = torch.randint(1, N_NOTES, (N_CHORDS, 2), generator=gen)

    def sample(self, n, gen):
        chords = torch.randint(N_CHORDS, (n, PREFIX), generator=gen)
        notes = [torch.randint(N_NOTES, (n,), generator=gen)]
        for bar in range(BARS - 1):
            chord = chords[:, bar % PREFIX]
            step = self.steps[chord, notes[-1] % 2]
            slip = (torch.rand(n, generator=gen) < 0.05).long()
            notes.append((notes[-1] + step + slip) % N_NOTES)
        return chords, torch.stack(notes, 1)


@torch.no_grad()
def next_note_accuracy(model, chords, notes):
    logits, _ = model(chords, notes)
    guess = logits[:, PREFIX:-1].argmax(-1)
    return (guess == notes[:, 1:]).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    book = Songbook()
    model = MelodyModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    val_chords, val_notes = book.sample(256, gen)
    for step in range(args.steps):
        chords, notes = book.sample(64, gen)
        _, loss = model(chords, notes, labels=notes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            acc = next_note_accuracy(model, val_chords, val_notes)
            print(f"step {step:4d} loss {loss.item():.4f} next note {acc:.3f}")
    acc = next_note_accuracy(model, val_chords, val_notes)
    print(f"EVIDENCE loss={loss.item():.3f} next_note_accuracy={acc:.3f}")


if __name__ == "__main__":
    main()
