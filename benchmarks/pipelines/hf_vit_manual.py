"""A ViT of transformers in a manual loop: two groups of parameters, accumulation, a cosine schedule, a checkpoint by hand."""

import os
import tempfile

import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset
from transformers import ViTConfig, ViTForImageClassification, get_cosine_schedule_with_warmup, set_seed
from transformers.utils import logging

from options import options

logging.set_verbosity_error()
ACCUMULATE = 2


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.inference_mode():
        for images, labels in loader:
            right += (model(pixel_values=images).logits.argmax(-1) == labels).sum().item()
            total += len(labels)
    return right / total


def main():
    args = options(lr=5e-3, width=32, steps=40)
    set_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
    labels = torch.tensor(digits.target)
    train_loader = DataLoader(TensorDataset(images[:1440], labels[:1440]), batch_size=36, shuffle=True, drop_last=True)
    test_loader = DataLoader(TensorDataset(images[1440:], labels[1440:]), batch_size=90)
    model = ViTForImageClassification(
        ViTConfig(
            hidden_size=args.width, num_hidden_layers=2, num_attention_heads=4, intermediate_size=2 * args.width,
            image_size=8, patch_size=4, num_channels=1, num_labels=10, hidden_dropout_prob=0.1,
        )
    )  # fmt: skip
    head = list(model.classifier.parameters())
    body = [p for name, p in model.named_parameters() if not name.startswith("classifier.")]
    optimizer = torch.optim.AdamW([{"params": body}, {"params": head, "lr": 2 * args.lr}], lr=args.lr, weight_decay=0.01)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 5, args.steps)
    with tempfile.TemporaryDirectory() as folder:
        path, best = os.path.join(folder, "best.pt"), 0.0
        for epoch in range(max(2, args.steps * ACCUMULATE // len(train_loader))):
            model.train()
            for i, (batch, target) in enumerate(train_loader):
                loss = model(pixel_values=batch, labels=target).loss
                (loss / ACCUMULATE).backward()
                if (i + 1) % ACCUMULATE == 0:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad()
            accuracy = evaluate(model, test_loader)
            if accuracy > best:
                best = accuracy
                torch.save(model.state_dict(), path)
            print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy:.3f}")
        model.load_state_dict(torch.load(path))
    print(f"best {evaluate(model, test_loader):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
