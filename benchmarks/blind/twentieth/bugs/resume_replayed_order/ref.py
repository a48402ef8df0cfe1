"""Fine-tuning on product reviews with a stop in the middle of an epoch and a resume from disk."""
import argparse
import collections
import io

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

VOCAB, LENGTH = 50, 12


class Reviews(Dataset):
    def __init__(self, n=480):
        g = torch.Generator().manual_seed(6)
        self.tokens = torch.randint(VOCAB, (n, LENGTH), generator=g)
        score = torch.randn(VOCAB, generator=g)[self.tokens].sum(1)
        self.label = (score > 0).long()

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return i, self.tokens[i], self.label[i]


class EpochBatchSampler:
    """Order by seed + epoch, with a number of batches to leave out after a resume."""

    def __init__(self, n, batch_size, seed, skip=0):
        self.n, self.batch_size, self.seed, self.skip = n, batch_size, seed, skip
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.n // self.batch_size - self.skip

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.n, generator=g).tolist()
        for b in range(self.skip, self.n // self.batch_size):
            yield order[b * self.batch_size : (b + 1) * self.batch_size]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(VOCAB, 32)
        self.head = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, tokens):
        return self.head(self.bag(tokens))


class Trainer:
    def __init__(self, args, dataset):
        torch.manual_seed(args.seed)
        self.args, self.dataset = args, dataset
        self.model = Classifier()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.global_step = 0

    def train_loader(self, skip_batches=0):
        sampler = EpochBatchSampler(len(self.dataset), self.args.batch_size, self.args.seed, skip_batches)
        return DataLoader(self.dataset, batch_sampler=sampler)

    def save(self):
        blob = io.BytesIO()
        state = dict(model=self.model.state_dict(), optimizer=self.optimizer.state_dict(), step=self.global_step)
        torch.save(state, blob)
        return blob.getvalue()

    def load(self, blob):
        state = torch.load(io.BytesIO(blob))
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.global_step = state["step"]

    def fit(self, stop_at, seen):
        per_epoch = len(self.dataset) // self.args.batch_size
        while self.global_step < stop_at:
            epoch, done = divmod(self.global_step, per_epoch)
            loader = self.train_loader(skip_batches=done)
            loader.batch_sampler.set_epoch(epoch)
            for index, tokens, label in loader:
                loss = F.cross_entropy(self.model(tokens), label)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                seen[epoch].update(index.tolist())
                self.global_step += 1
                if self.global_step >= stop_at:
                    break
            print(f"epoch {epoch} step {self.global_step} loss {loss.item():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--batch_size", type=int, default=16)
    args = ap.parse_args()
    dataset = Reviews()
    seen = collections.defaultdict(collections.Counter)
    first = Trainer(args, dataset)
    first.fit(args.steps * 3 // 8, seen)
    checkpoint = first.save()

    second = Trainer(args, dataset)
    second.load(checkpoint)
    second.fit(args.steps, seen)
    worst = max(sum(c > 1 for c in counts.values()) for counts in seen.values())
    missed = max(len(dataset) - len(counts) for counts in seen.values())
    print(f"EVIDENCE reviews_seen_twice_in_an_epoch={worst} reviews_missed_in_an_epoch={missed}")


if __name__ == "__main__":
    main()
