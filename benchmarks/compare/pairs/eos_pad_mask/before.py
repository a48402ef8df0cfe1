"""Fine-tune a GRU language model on short replies of different lengths."""
import argparse
import random

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

VOCAB = 40
EOS_ID = 1
PAD_ID = EOS_ID  # no token of its own for padding
IGNORE = -100


class ReplyDataset(Dataset):
    """Each reply counts up from a start word and stops with the end token."""

    def __init__(self, size, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(size):
            start = rng.randrange(2, VOCAB)
            stride = rng.choice([1, 2, 3])
            length = 4 + start % 7
            ids = [2 + (start - 2 + stride * k) % (VOCAB - 2) for k in range(length)]
            self.items.append(ids + [EOS_ID])

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return torch.tensor(self.items[i])


def collate(rows):
    lengths = torch.tensor([len(r) for r in rows])
    ids = pad_sequence(rows, batch_first=True, padding_value=PAD_ID)
    labels = ids.clone()
    positions = torch.arange(ids.size(1)).unsqueeze(0)
    labels[positions >= lengths.unsqueeze(1)] = IGNORE
    return {"input_ids": ids, "labels": labels, "lengths": lengths}


class GRULanguageModel(nn.Module):
    def __init__(self, vocab=VOCAB, dim=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.out(h)


def compute_loss(model, batch):
    logits = model(batch["input_ids"])[:, :-1]
    target = batch["labels"][:, 1:]
    return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=IGNORE)


def cycle(loader):
    while True:
        for batch in loader:
            yield batch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    dataset = ReplyDataset(1000, args.seed)
    loader = DataLoader(dataset, batch_size=32, shuffle=True, collate_fn=collate,
                        generator=torch.Generator().manual_seed(args.seed))
    model = GRULanguageModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=args.steps)

    batches = cycle(loader)
    for step in range(args.steps):
        loss = compute_loss(model, next(batches))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 25 == 0 or step == args.steps - 1:
            print(f"step={step} loss={loss.item():.6f}")

    print(f"weight_sum={sum(p.double().sum().item() for p in model.parameters()):.10f}")


if __name__ == "__main__":
    main()
