"""Pointer-generator that rewrites a log of device names into a command; names are copied from the source."""

import argparse
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS = 0, 1, 2
VERBS = range(3, 9)       # words that are generated
NAMES = range(9, 129)     # names, most of them are rare
VOCAB = 129


class LogDataset(Dataset):
    """The command names the device that was mentioned most often, then the one mentioned last."""

    def __init__(self, n, seed, names):
        rnd = random.Random(seed)
        self.rows = []
        for _ in range(n):
            verb = rnd.choice(VERBS)
            main, *others = rnd.sample(list(names), 4)
            mentions = [main] * 3 + others
            rnd.shuffle(mentions)
            source = [verb] + mentions
            target = [verb, main, mentions[-1], EOS]
            self.rows.append((torch.tensor(source), torch.tensor(target)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    source, target = zip(*rows)
    return pad_sequence(source, True, PAD), pad_sequence(target, True, PAD)


class PointerGenerator(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * dim, dim)
        self.cell = nn.GRUCell(3 * dim, dim)
        self.query = nn.Linear(dim, 2 * dim)
        self.vocab_out = nn.Linear(3 * dim, VOCAB)
        self.gate = nn.Linear(3 * dim, 1)

    def encode(self, source):
        memory, _ = self.encoder(self.embed(source))
        keep = source.ne(PAD)
        pooled = (memory * keep.unsqueeze(-1)).sum(1) / keep.sum(1, keepdim=True)
        return memory, keep, torch.tanh(self.bridge(pooled))

    def step(self, word, state, context, memory, keep, source):
        state = self.cell(torch.cat([self.embed(word), context], dim=-1), state)
        score = torch.bmm(memory, self.query(state).unsqueeze(-1)).squeeze(-1) / memory.size(-1) ** 0.5
        attention = score.masked_fill(~keep, float("-inf")).softmax(dim=-1)
        context = torch.bmm(attention.unsqueeze(1), memory).squeeze(1)
        feature = torch.cat([state, context], dim=-1)
        p_gen = torch.sigmoid(self.gate(feature))
        generated = p_gen * self.vocab_out(feature).softmax(dim=-1)
        copied = torch.zeros_like(generated).scatter_(1, source, (1 - p_gen) * attention)
        return generated + copied, state, context

    def forward(self, source, target):
        memory, keep, state = self.encode(source)
        context = memory.new_zeros(len(source), memory.size(-1))
        word = torch.full((len(source),), BOS)
        probs = []
        for t in range(target.size(1)):
            prob, state, context = self.step(word, state, context, memory, keep, source)
            probs.append(prob)
            word = target[:, t]
        return torch.stack(probs, dim=1)

    @torch.no_grad()
    def greedy(self, source, length=4):
        memory, keep, state = self.encode(source)
        context = memory.new_zeros(len(source), memory.size(-1))
        word, words, mass = torch.full((len(source),), BOS), [], []
        for _ in range(length):
            prob, state, context = self.step(word, state, context, memory, keep, source)
            word = prob.argmax(-1)
            words.append(word)
            mass.append(prob.sum(-1))
        return torch.stack(words, 1), torch.stack(mass, 1)


def nll(probs, target):
    picked = probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    keep = target.ne(PAD)
    return -(picked + 1e-9).log()[keep].mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=450)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    train = LogDataset(3000, args.seed, NAMES)
    test = LogDataset(500, 10_000, NAMES)
    loader = DataLoader(train, batch_size=48, shuffle=True, collate_fn=collate, drop_last=True)
    model = PointerGenerator()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=args.steps)
    done = 0
    while done < args.steps:
        for source, target in loader:
            loss = nll(model(source, target), target)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            scheduler.step()
            done += 1
            if done % 75 == 0:
                print(f"step {done} loss {loss.item():.3f}")
            if done == args.steps:
                break

    model.eval()
    source, target = collate([test[i] for i in range(len(test))])
    words, mass = model.greedy(source)
    hit = (words == target).float().mean(0)
    with torch.no_grad():
        test_nll = nll(model(source, target), target).item()
    print(f"EVIDENCE test nll {test_nll:.3f} main device {hit[1]:.3f} last device {hit[2]:.3f} smallest mass of the words {mass.min():.3f}")


if __name__ == "__main__":
    main()
