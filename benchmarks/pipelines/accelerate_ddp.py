"""accelerate on two ranks with bfloat16: a transformer encoder on the rows of digits."""

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Linear(8, width)
        self.position = nn.Parameter(torch.zeros(8, width))
        self.layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.1, batch_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.layer(self.embed(x) + self.position).mean(1))


def main():
    from sklearn.datasets import load_digits

    args = options(lr=4e-3, width=32, steps=30)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True, mixed_precision="bf16")
    set_seed(args.seed)
    digits = load_digits()
    x, y = torch.tensor(digits.images, dtype=torch.float32) / 16, torch.tensor(digits.target)
    train_loader = DataLoader(TensorDataset(x[:1440], y[:1440]), batch_size=72, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[1440:], y[1440:]), batch_size=60)
    model = Encoder(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, train_loader, test_loader = accelerator.prepare(model, optimizer, train_loader, test_loader)
    for epoch in range(max(2, args.steps // len(train_loader))):
        model.train()
        for images, labels in train_loader:
            optimizer.zero_grad()
            with accelerator.autocast():
                loss = F.cross_entropy(model(images), labels)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        hits = []
        for images, labels in test_loader:
            with torch.no_grad():
                predicted = model(images).argmax(-1)
            hits.append((predicted == labels).float())
        accuracy = accelerator.gather_for_metrics(torch.cat(hits)).mean().item()
        accelerator.print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy:.3f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
