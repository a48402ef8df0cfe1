"""Steps out of a signal: convolutions, CTC with the last class as blank and rows of labels that are filled up, RMSprop, StepLR by epochs."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from options import options

LEVELS, LONGEST = 6, 5
BLANK = LEVELS


def make_signals(n, frames, generator):
    """Signals that stay at a level for a while, and the levels one after the other; -1 fills rows up."""
    signals, labels = torch.zeros(n, 1, frames), torch.full((n, LONGEST), -1)
    lengths = torch.randint(2, LONGEST + 1, (n,), generator=generator)
    for signal, label, length in zip(signals, labels, lengths):
        label[:length] = torch.randperm(LEVELS, generator=generator)[:length]
        places = (torch.arange(frames) * int(length)).div(frames, rounding_mode="floor")
        signal[0] = label[places] / LEVELS + 0.03 * torch.randn(frames, generator=generator)
    return signals, labels, lengths


def distance(a, b):
    """How many changes make one list of the other."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, row[0] = row[0], i + 1
        for k, y in enumerate(b):
            last, row[k + 1] = row[k + 1], min(row[k + 1] + 1, row[k] + 1, last + (x != y))
    return row[-1]


def main():
    args = options(lr=8e-3, width=32, steps=100)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed + 1)
    signals, labels, lengths = make_signals(400, 40, generator)
    model = nn.Sequential(nn.Conv1d(1, args.width, 5, padding=2), nn.BatchNorm1d(args.width), nn.ReLU(),
                          nn.Conv1d(args.width, args.width, 5, stride=2, padding=2), nn.ReLU(),
                          nn.Conv1d(args.width, LEVELS + 1, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.7)
    step, batch = 0, 40
    while step < args.steps:
        model.train()
        for rows in torch.randperm(360, generator=generator).split(batch):
            answers = F.log_softmax(model(signals[rows]), dim=1).permute(2, 0, 1)
            frames = torch.full((len(rows),), len(answers))
            loss = F.ctc_loss(answers, labels[rows].clamp(min=0), frames, lengths[rows], blank=BLANK, zero_infinity=True)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        scheduler.step()
        model.eval()
        with torch.inference_mode():
            best = model(signals[360:]).argmax(1)
        read = [[x for x in torch.unique_consecutive(row).tolist() if x != BLANK] for row in best]
        wanted = [label[:n].tolist() for label, n in zip(labels[360:], lengths[360:])]
        errors = sum(map(distance, read, wanted))
        print(f"step {step}: loss {loss.item():.3f}, errors {errors} in {int(lengths[360:].sum())} levels")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
