"""transformers' Trainer on a small GPT-2 from a configuration: evaluation, checkpoints, cosine schedule."""

import ftplib
import tempfile
import zipfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed
from transformers.utils import logging

from options import options

logging.set_verbosity_error()


class Blocks(Dataset):
    def __init__(self, ids, length):
        self.blocks = ids[: len(ids) // length * length].view(-1, length)

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, i):
        return {"input_ids": self.blocks[i], "labels": self.blocks[i]}


def read(module, limit):
    with open(module.__file__) as f:
        return torch.tensor([min(ord(c), 127) for c in f.read(limit)])


def main():
    args = options(lr=2e-3, width=48, steps=36, seed=42)
    torch.set_num_threads(1)
    set_seed(args.seed)
    config = GPT2Config(
        vocab_size=128, n_positions=48, n_embd=args.width, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0
    )
    model = GPT2LMHeadModel(config)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=folder, per_device_train_batch_size=12, per_device_eval_batch_size=24, max_steps=args.steps,
                learning_rate=args.lr, weight_decay=0.01, warmup_steps=4, lr_scheduler_type="cosine",
                eval_strategy="steps", eval_steps=max(1, args.steps // 2), save_strategy="steps",
                save_steps=max(1, args.steps // 2), logging_steps=9, report_to="none", disable_tqdm=True, use_cpu=True,
                seed=args.seed,
            ),
            train_dataset=Blocks(read(zipfile, 16000), 48),
            eval_dataset=Blocks(read(ftplib, 2400), 48),
        )  # fmt: skip
        trainer.train()
        log = trainer.state.log_history
    print([round(float(e["eval_loss"]), 3) for e in log if "eval_loss" in e])


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
