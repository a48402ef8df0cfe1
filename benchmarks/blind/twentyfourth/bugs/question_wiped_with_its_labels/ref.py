# Supervised fine-tuning with loss-masking spans; id 0 is the padding and also what the loss ignores.
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

PAD, SEP = 0, 1
SYMBOLS, LENGTH = 10, 4
VOCAB = 2 + SYMBOLS


class SpanDataset(Dataset):
    """Each sample is `question SEP answer`, the answer is the question sorted; the span of the question isn't taught."""

    def __init__(self, size, seed):
        gen = torch.Generator().manual_seed(seed)
        question = torch.randint(2, VOCAB, (size, LENGTH), generator=gen)
        sep = torch.full((size, 1), SEP)
        self.token_ids = torch.cat([question, sep, question.sort(dim=1).values], dim=1)
        self.loss_masking_spans = [[(0, LENGTH)] for _ in range(size)]

    def __len__(self):
        return len(self.token_ids)

    def __getitem__(self, index):
        tokens = self.token_ids[index].clone()
        labels = tokens[1:].clone()
        for begin, end in self.loss_masking_spans[index]:
            labels[max(begin - 1, 0):end - 1] = PAD
        return tokens[:-1], labels


class CausalModel(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.position = nn.Parameter(torch.randn(2 * LENGTH, dim) * 0.1)
        layer = nn.TransformerEncoderLayer(dim, 4, 4 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, VOCAB))
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(2 * LENGTH))

    def forward(self, ids):
        return self.out(self.layers(self.embed(ids) + self.position, mask=self.mask, is_causal=True))


def accuracy(model, seed):
    """Teacher-forced accuracy on the answers of rows that never went through the masking."""
    rows = SpanDataset(256, seed).token_ids
    with torch.no_grad():
        guess = model(rows[:, :-1]).argmax(-1)[:, LENGTH:]
    return (guess == rows[:, LENGTH + 1:]).float().mean().item()


def train(args):
    torch.manual_seed(args.seed)
    loader = DataLoader(SpanDataset(4096, args.seed), batch_size=64, shuffle=True, drop_last=True)
    model = CausalModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    step, total = 0, args.steps
    while step < total:
        for ids, labels in loader:
            for group in optimizer.param_groups:
                group["lr"] = args.lr * min(1.0, (step + 1) / 10)
            loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten(), ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 20 == 0:
                print(f"{step}/{total} loss={loss.item():.4f}")
            if step == total:
                break
    return model, loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.set_num_threads(1)
    model, loss = train(args)
    print(f"EVIDENCE answer_accuracy={accuracy(model, 777):.4f} loss={loss:.4f}")
