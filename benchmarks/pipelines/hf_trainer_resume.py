"""transformers' Trainer on a classifier, accumulation and metrics; a second Trainer resumes from its checkpoint."""

import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
from transformers.utils import logging

from options import options

logging.set_verbosity_error()


class Pixels(Dataset):
    """A digit as a sentence of 64 grey levels."""

    def __init__(self, rows):
        digits = load_digits()
        keep = np.flatnonzero(digits.target < 3)[rows]
        self.ids = torch.tensor(digits.data[keep], dtype=torch.long)
        self.labels = torch.tensor(digits.target[keep])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "attention_mask": torch.ones(64, dtype=torch.long), "labels": self.labels[i]}


def compute_metrics(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def make_trainer(folder, args, steps):
    config = BertConfig(
        vocab_size=17, hidden_size=args.width, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=2 * args.width, max_position_embeddings=64, num_labels=3, initializer_range=0.1,
    )  # fmt: skip
    return Trainer(
        model=BertForSequenceClassification(config),
        args=TrainingArguments(
            output_dir=folder, max_steps=steps, per_device_train_batch_size=12, gradient_accumulation_steps=2,
            learning_rate=args.lr, lr_scheduler_type="linear", warmup_steps=3, save_strategy="steps",
            save_steps=args.steps // 2, eval_strategy="steps", eval_steps=args.steps // 2, max_grad_norm=1.0,
            report_to="none", disable_tqdm=True, use_cpu=True, seed=args.seed, logging_steps=5,
        ),
        train_dataset=Pixels(slice(0, 430)),
        eval_dataset=Pixels(slice(430, 530)),
        compute_metrics=compute_metrics,
    )  # fmt: skip


def main():
    args = options(lr=1e-3, width=32, steps=30)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        first = make_trainer(folder, args, args.steps // 2)
        first.train()
        second = make_trainer(folder, args, args.steps)
        second.train(resume_from_checkpoint=True)
        print(f"step {second.state.global_step}: {second.evaluate()['eval_accuracy']:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
