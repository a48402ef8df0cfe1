"""Tag words in sentences of very different lengths, with gradient accumulation."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0
IGNORE = -1
VOCAB, TAGS = 60, 5


def make_sentences(n, generator):
    """A word's tag depends on the word and on the word before it."""
    data = []
    for _ in range(n):
        if torch.rand((), generator=generator) < 0.7:
            length = int(torch.randint(3, 7, (), generator=generator))
        else:
            length = int(torch.randint(20, 36, (), generator=generator))
        words = torch.randint(1, VOCAB, (length,), generator=generator)
        previous = torch.cat([torch.zeros(1, dtype=torch.long), words[:-1]])
        tags = (words + 2 * (previous % 3)) % TAGS
        data.append((words, tags))
    return data


def pad_batch(items):
    width = max(len(w) for w, _ in items)
    words = torch.full((len(items), width), PAD)
    tags = torch.full((len(items), width), IGNORE)
    for row, (w, t) in enumerate(items):
        words[row, :len(w)] = w
        tags[row, :len(t)] = t
    return words, tags


class Tagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * dim, TAGS)

    def forward(self, words):
        h, _ = self.rnn(self.embed(words))
        return self.head(h)


def train_step(model, optimizer, micro_batches, max_norm):
    """One update from several micro batches, all tokens weighted alike."""
    optimizer.zero_grad()
    num_tokens = sum(int((tags != IGNORE).sum()) for _, tags in micro_batches)
    total = 0.0
    for words, tags in micro_batches:
        logits = model(words)
        loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=IGNORE, reduction="sum")
        loss = loss / num_tokens
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--micro-batch", type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    sentences = make_sentences(600, generator)
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)

    for step in range(args.steps):
        micro_batches = []
        for _ in range(args.accumulate):
            chosen = torch.randint(0, len(sentences), (args.micro_batch,), generator=generator)
            micro_batches.append(pad_batch([sentences[i] for i in chosen.tolist()]))
        loss = train_step(model, optimizer, micro_batches, max_norm=5.0)
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step:4d}  loss {loss:.6f}")

    print("weight sum", sum(p.double().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
