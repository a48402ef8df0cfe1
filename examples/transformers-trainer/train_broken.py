"""Fine-tune a small vision transformer on digits with transformers' Trainer."""

import argparse
import tempfile

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification, set_seed
from transformers.utils import logging

CLASSES = 10


class Digits(Dataset):
    def __init__(self, start, stop):
        pixels, labels = load_digits(return_X_y=True)
        self.images = torch.tensor(pixels[start:stop], dtype=torch.float32).view(-1, 1, 8, 8) / 8 - 1
        self.labels = torch.tensor(labels[start:stop])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"pixel_values": self.images[i], "labels": self.labels[i]}


def small_vit():
    return ViTForImageClassification(
        ViTConfig(
            image_size=8, patch_size=2, num_channels=1, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=64, hidden_dropout_prob=0.1, num_labels=CLASSES,
        )
    )  # fmt: skip


def deeper_head(width):
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, CLASSES))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    logging.set_verbosity_error()
    torch.set_num_threads(1)
    set_seed(args.seed)
    model = small_vit()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model.classifier = deeper_head(model.config.hidden_size)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))

    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder, max_steps=args.steps, per_device_train_batch_size=48, eval_strategy="steps", eval_steps=20,
            logging_steps=20, save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True, seed=args.seed,
        )  # fmt: skip
        trainer = Trainer(
            model, settings, train_dataset=Digits(0, 1440), eval_dataset=Digits(1440, None),
            optimizers=(optimizer, scheduler),
        )  # fmt: skip
        trainer.callback_handler.callbacks.pop()  # prints
        trainer.train()
    for entry in trainer.state.log_history:
        if "eval_loss" in entry:
            print(f"step {entry['step']}: loss {float(entry['eval_loss']):.3f} on held-out digits")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
