"""transformers' Trainer on two ranks under torchrun: a masked model, accumulation, evaluation."""

import base64
import os
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForMaskedLM, Trainer, TrainingArguments, set_seed
from transformers.utils import logging

from options import options

logging.set_verbosity_error()
LENGTH, MASK = 32, 1


class Masked(Dataset):
    def __init__(self, start, stop):
        with open(base64.__file__) as f:
            ids = torch.tensor([min(ord(c), 127) for c in f.read()])
        self.rows = ids[: len(ids) // LENGTH * LENGTH].view(-1, LENGTH)[start:stop]
        self.holes = torch.rand(self.rows.shape, generator=torch.Generator().manual_seed(start)) < 0.15

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row, hole = self.rows[i], self.holes[i]
        return {"input_ids": row.masked_fill(hole, MASK), "labels": row.masked_fill(~hole, -100)}


def main():
    args = options(lr=1e-2, width=32, steps=24)
    torch.set_num_threads(1)
    set_seed(args.seed)
    config = DistilBertConfig(
        vocab_size=128, dim=args.width, n_layers=2, n_heads=4, hidden_dim=2 * args.width, max_position_embeddings=LENGTH,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=DistilBertForMaskedLM(config),
            args=TrainingArguments(
                output_dir=folder, max_steps=args.steps, per_device_train_batch_size=8, gradient_accumulation_steps=2,
                learning_rate=args.lr, lr_scheduler_type="linear", warmup_steps=3, max_grad_norm=1.0,
                eval_strategy="steps", eval_steps=max(1, args.steps // 2), save_strategy="no", report_to="none",
                disable_tqdm=True, use_cpu=True, ddp_backend="gloo", seed=args.seed, logging_steps=8,
            ),
            train_dataset=Masked(0, 480),
            eval_dataset=Masked(480, 540),
        )  # fmt: skip
        trainer.train()
        loss = trainer.evaluate()["eval_loss"]
    if os.environ["RANK"] == "0":
        print(f"loss of masked letters {loss:.3f}", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
