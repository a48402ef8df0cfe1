"""Word-level language model with adaptive input embeddings (frequent words are wide, rare ones narrow) and an adaptive softmax."""
import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

BOS, PAD, EOS = 0, 1, 2
VOCAB = 120
CUTOFFS = [6, 12, 24, 48]


class Sentences(torch.utils.data.IterableDataset):
    """Chains of words; each word has a few successors of its own, frequent words have small numbers."""

    def __init__(self, seed, batch_size):
        self.rng = torch.Generator().manual_seed(seed)
        self.batch_size = batch_size
        g = torch.Generator().manual_seed(17)
        frequency = 1.0 / torch.arange(1, VOCAB - 2).float() ** 0.5
        successors = torch.zeros(VOCAB, VOCAB)
        for word in range(VOCAB):
            allowed = torch.multinomial(frequency, 4, generator=g) + 3
            successors[word, allowed] = torch.rand(4, generator=g) + 0.3
        self.successors = successors / successors.sum(1, keepdim=True)

    def sentences(self, n):
        lengths = torch.randint(5, 15, (n,), generator=self.rng)
        word = torch.randint(3, VOCAB, (n,), generator=self.rng)
        words = [torch.full((n,), BOS), word]
        for _ in range(int(lengths.max()) - 1):
            word = torch.multinomial(self.successors[word], 1, generator=self.rng)[:, 0]
            words.append(word)
        table = torch.stack(words, 1)
        rows = [torch.cat([row[: l + 1], torch.tensor([EOS])]) for row, l in zip(table, lengths.tolist())]
        return sorted(rows, key=len, reverse=True)

    def __iter__(self):
        while True:
            rows = self.sentences(self.batch_size)
            lengths = torch.tensor([len(r) - 1 for r in rows])
            padded = pad_sequence(rows, batch_first=True, padding_value=PAD)
            yield padded[:, :-1], padded[:, 1:], lengths


class AdaptiveInput(nn.Module):
    def __init__(self, width, cutoffs, factor=1.5):
        super().__init__()
        self.edges = [0, *cutoffs, VOCAB]
        self.width = width
        self.tables, self.projections = nn.ModuleList(), nn.ModuleList()
        for i, (low, high) in enumerate(zip(self.edges, self.edges[1:])):
            dim = max(8, int(width / factor**i))
            self.tables.append(nn.Embedding(high - low, dim, padding_idx=PAD if i == 0 else None))
            self.projections.append(nn.Linear(dim, width, bias=False))

    def forward(self, ids):
        flat = ids.reshape(-1)
        out = self.projections[0].weight.new_zeros(flat.numel(), self.width)
        for low, high, table, project in zip(self.edges, self.edges[1:], self.tables, self.projections):
            rows = ((flat >= low) & (flat < high)).nonzero().squeeze(1)
            if rows.numel():
                out = out.index_copy(0, rows, project(table(flat[rows] - low)))
        return out.view(*ids.shape, self.width)

    def vector(self, word):
        return self(torch.tensor([word]))[0]


class LanguageModel(nn.Module):
    def __init__(self, width=48, hidden=64):
        super().__init__()
        self.embed = AdaptiveInput(width, CUTOFFS)
        self.drop = nn.Dropout(0.1)
        self.rnn = nn.GRU(width, hidden, batch_first=True)
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(hidden, VOCAB, cutoffs=[24, 60], div_value=2.0)

    def forward(self, ids, target, lengths):
        packed = pack_padded_sequence(self.drop(self.embed(ids)), lengths, batch_first=True)
        states, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        keep = target.ne(PAD)
        return self.softmax(self.drop(states[keep]), target[keep]), keep


def evaluate(model, batches):
    """Mean loss after each word."""
    model.eval()
    total, count = torch.zeros(VOCAB), torch.zeros(VOCAB)
    with torch.no_grad():
        for _, (ids, target, lengths) in zip(range(batches), Sentences(909, 64)):
            result, keep = model(ids, target, lengths)
            total.index_add_(0, ids[keep], -result.output)
            count.index_add_(0, ids[keep], torch.ones(len(result.output)))
    model.train()
    return total, count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=350)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    model = LanguageModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=max(1, args.steps // 3), gamma=0.4)
    for step, (ids, target, lengths) in enumerate(Sentences(args.seed, 32)):
        if step == args.steps:
            break
        result, _ = model(ids, target, lengths)
        optimizer.zero_grad()
        result.loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if (step + 1) % 70 == 0:
            print(f"step {step + 1} loss {result.loss.item():.3f}")

    total, count = evaluate(model, 20)
    watched = torch.tensor([low + PAD for low in CUTOFFS])
    others = torch.tensor([w for w in range(3, VOCAB) if w not in watched.tolist()])
    norms = [model.embed.vector(w).norm().item() for w in watched.tolist()]
    print(
        f"EVIDENCE loss {(total.sum() / count.sum()).item():.3f}, after words {watched.tolist()} "
        f"{(total[watched].sum() / count[watched].sum()).item():.3f}, after others {(total[others].sum() / count[others].sum()).item():.3f}, "
        f"norms {[round(n, 2) for n in norms]}"
    )


if __name__ == "__main__":
    main()
