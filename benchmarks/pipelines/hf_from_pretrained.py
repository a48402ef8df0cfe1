"""Pretrain a masked language model, save it, and fine-tune a classifier on it: from_pretrained, then train()."""

import tempfile

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset
from transformers import DistilBertConfig, DistilBertForMaskedLM, DistilBertModel
from transformers.utils import logging

from options import options

logging.set_verbosity_error()
MASK = 17


class Classifier(torch.nn.Module):
    def __init__(self, folder, classes):
        super().__init__()
        self.encoder = DistilBertModel.from_pretrained(folder)
        self.dropout = torch.nn.Dropout(0.1)
        self.fc = torch.nn.Linear(self.encoder.config.dim, classes)

    def forward(self, ids):
        hidden = self.encoder(input_ids=ids).last_hidden_state
        return self.fc(self.dropout(hidden.mean(dim=1)))


def pretrain(config, loader, args):
    model = DistilBertForMaskedLM(config)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for ids, _ in loader:
        hidden = torch.rand(ids.shape) < 0.15
        loss = model(input_ids=ids.masked_fill(hidden, MASK), labels=ids.masked_fill(~hidden, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pretraining: loss {loss.item():.3f}")
    return model


def main():
    args = options(lr=1e-3, width=32, steps=42)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    keep = digits.target < 3
    ids, labels = torch.tensor(digits.data[keep], dtype=torch.long), torch.tensor(digits.target[keep])
    loader = DataLoader(TensorDataset(ids[:448], labels[:448]), batch_size=32, shuffle=True)
    config = DistilBertConfig(
        vocab_size=18, dim=args.width, n_layers=2, n_heads=4, hidden_dim=2 * args.width, max_position_embeddings=64
    )
    with tempfile.TemporaryDirectory() as folder:
        pretrain(config, loader, args).save_pretrained(folder)
        model = Classifier(folder, 3)
    optimizer = torch.optim.AdamW(
        [{"params": model.encoder.parameters(), "lr": args.lr / 2}, {"params": model.fc.parameters()}], lr=args.lr
    )
    for epoch in range(max(1, args.steps // len(loader) - 1)):
        model.train()
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(ids[448:]).argmax(-1) == labels[448:]).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
