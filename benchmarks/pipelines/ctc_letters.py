"""Letters out of frames: a bidirectional LSTM, CTC with nought as blank and labels one behind the other, greedy decoding."""

import torch
import torch.nn as nn

from options import options

LETTERS, FEATURES, BLANK = 8, 12, 0


def make_words(n, shapes, generator):
    """Frames, of each letter two to four with noise, and the letters, numbered from one."""
    words = []
    for _ in range(n):
        letters = torch.randint(1, LETTERS + 1, (int(torch.randint(3, 7, (), generator=generator)),), generator=generator)
        repeats = torch.randint(2, 5, (len(letters),), generator=generator)
        frames = shapes[letters - 1].repeat_interleave(repeats, 0)
        words.append((frames + 0.3 * torch.randn(frames.shape, generator=generator), letters))
    return words


def collate(words):
    frames = nn.utils.rnn.pad_sequence([w[0] for w in words], batch_first=True)
    letters = torch.cat([w[1] for w in words])
    return frames, letters, torch.tensor([len(w[0]) for w in words]), torch.tensor([len(w[1]) for w in words])


class Reader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.rnn = nn.LSTM(FEATURES, width, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(2 * width, LETTERS + 1)

    def forward(self, frames, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(frames, lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(self.drop(states)).log_softmax(-1)


def greedy(answers, lengths):
    read = []
    for row, length in zip(answers.argmax(-1), lengths):
        row = torch.unique_consecutive(row[:length])
        read.append(row[row != BLANK].tolist())
    return read


def main():
    args = options(lr=5e-3, width=32, steps=90)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed + 1)
    shapes = torch.randn(LETTERS, FEATURES, generator=generator)
    loader = torch.utils.data.DataLoader(make_words(480, shapes, generator), batch_size=32, shuffle=True, collate_fn=collate)
    held_out = make_words(64, shapes, generator)
    model = Reader(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loss_function = nn.CTCLoss(blank=BLANK)
    step = 0
    while step < args.steps:
        model.train()
        for frames, letters, lengths, n_letters in loader:
            answers = model(frames, lengths)
            loss = loss_function(answers.transpose(0, 1), letters, lengths, n_letters)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        model.eval()
        with torch.no_grad():
            frames, _, lengths, _ = collate(held_out)
            read = greedy(model(frames, lengths), lengths)
        right = sum(r == w[1].tolist() for r, w in zip(read, held_out))
        print(f"step {step}: loss {loss.item():.3f}, words read {right} of {len(held_out)}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
