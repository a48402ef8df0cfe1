"""Intent classification with a text CNN; batches are bucketed by length under a token budget, so their sizes vary."""
import argparse
import random
from collections import Counter

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler

PATTERNS = {
    "weather": ["will it {rain} in {city} {when}", "what is the forecast for {city}", "do i need a coat {when}"],
    "alarm": ["wake me up at {num}", "set an alarm for {num} {when}", "remind me {when} to call home"],
    "music": ["play some {genre}", "put on the {genre} list {when}", "skip this {genre} song"],
    "travel": ["book a train to {city} {when}", "how far is {city} from {city}", "i need {num} tickets to {city}"],
    "other": ["tell me a joke about {city}", "what is {num} plus {num}", "who wrote the {genre} song"],
}
SLOTS = {"rain": ["rain", "snow", "storm"], "city": ["paris", "oslo", "rome", "lima", "cairo"],
         "num": ["six", "seven", "eight"], "when": ["today", "tomorrow", "on monday", "tonight", ""],
         "genre": ["jazz", "rock", "folk", "pop"]}
FILLERS = ["please", "uh", "hey there", "could you", "thanks a lot", "i was wondering you know", "if that is possible at all"]


def make_sentence(rng):
    label = rng.choice(list(PATTERNS))
    words = []
    for w in rng.choice(PATTERNS[label]).split():
        words += rng.choice(SLOTS[w[1:-1]]).split() if w.startswith("{") else [w]
    for _ in range(rng.choice([0, 0, 1, 2, 4])):
        at = rng.choice([0, len(words)])
        words[at:at] = rng.choice(FILLERS).split()
    return words, list(PATTERNS).index(label)


class IntentDataset(Dataset):
    def __init__(self, samples, vocab):
        self.items = [(torch.tensor([vocab.get(w, 1) for w in words]), label) for words, label in samples]
        self.lengths = [len(ids) for ids, _ in self.items]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class BucketBatchSampler(Sampler):
    """Sorts by (jittered) length, packs batches up to max_tokens including the padding, then shuffles the batches."""

    def __init__(self, lengths, max_tokens, rng):
        self.lengths, self.max_tokens, self.rng = lengths, max_tokens, rng

    def __iter__(self):
        order = sorted(range(len(self.lengths)), key=lambda i: self.lengths[i] + self.rng.random() * 2)
        batches, batch, longest = [], [], 0
        for i in order:
            longest = max(longest, self.lengths[i])
            if batch and longest * (len(batch) + 1) > self.max_tokens:
                batches.append(batch)
                batch, longest = [], self.lengths[i]
            batch.append(i)
        batches.append(batch)
        self.rng.shuffle(batches)
        return iter(batches)


def collate(items):
    ids, labels = zip(*items)
    return pad_sequence(ids, batch_first=True, padding_value=0), torch.tensor(labels)


class TextCNN(nn.Module):
    def __init__(self, vocab_size, n_classes, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(dim, 32, k, padding=k // 2) for k in (1, 3, 5))
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(96, n_classes)

    def forward(self, ids):
        pad = (ids == 0).unsqueeze(1)
        x = self.emb(ids).transpose(1, 2)
        pooled = [torch.relu(conv(x)).masked_fill(pad, 0.0).amax(2) for conv in self.convs]
        return self.fc(self.drop(torch.cat(pooled, 1)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=160)
    args = p.parse_args()
    rng = random.Random(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    samples = [make_sentence(rng) for _ in range(2400)]
    train_s, test_s = samples[:1900], samples[1900:]
    counts = Counter(w for words, _ in train_s for w in words)
    vocab = {w: i + 2 for i, (w, _) in enumerate(counts.most_common())}
    train, test = IntentDataset(train_s, vocab), IntentDataset(test_s, vocab)
    train_dl = DataLoader(train, batch_sampler=BucketBatchSampler(train.lengths, 600, rng), collate_fn=collate)
    test_dl = DataLoader(test, batch_size=100, collate_fn=collate)
    model = TextCNN(len(vocab) + 2, len(PATTERNS))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    step, epoch = 0, 0
    while step < args.steps:
        model.train()
        for ids, labels in train_dl:
            loss = nn.functional.cross_entropy(model(ids), labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            if step % 40 == 0:
                print(f"step {step} batch {tuple(ids.shape)} loss {loss.item():.4f}")
            if step == args.steps:
                break
        epoch += 1
        model.eval()
        with torch.no_grad():
            hits = sum((model(ids).argmax(1) == labels).sum().item() for ids, labels in test_dl)
        print(f"epoch {epoch}: test accuracy {hits / len(test):.3f}")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
