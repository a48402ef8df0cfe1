"""The Trainer of transformers: accumulation, warm-up, evaluation within epochs, the best checkpoint is loaded at the end."""

import argparse
import tempfile
import warnings

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainingArguments
from transformers.utils import logging

warnings.filterwarnings("ignore")
logging.set_verbosity_error()
logging.disable_progress_bar()
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=24)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Sentences(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            length, label = int(torch.randint(4, 14, ())), int(torch.randint(0, 2, ()))
            ids = torch.randint(2, 20, (length,)) + 18 * (torch.rand(length) < 0.5) * label
            self.items.append({"input_ids": ids.tolist(), "labels": label})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(items):
    longest = max(len(i["input_ids"]) for i in items)
    ids = torch.zeros(len(items), longest, dtype=torch.long)
    for row, item in zip(ids, items):
        row[: len(item["input_ids"])] = torch.tensor(item["input_ids"])
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.tensor([i["labels"] for i in items])}


def metrics(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


with tempfile.TemporaryDirectory() as folder:
    config = BertConfig(vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                        max_position_embeddings=20, num_labels=2)
    settings = TrainingArguments(
        folder, max_steps=args.steps, learning_rate=args.lr, per_device_train_batch_size=16, gradient_accumulation_steps=2,
        warmup_steps=4, lr_scheduler_type="cosine", weight_decay=0.01, eval_strategy="steps", eval_steps=6, save_steps=6,
        save_total_limit=1, load_best_model_at_end=True, metric_for_best_model="accuracy", label_smoothing_factor=0.05,
        report_to=[], use_cpu=True, seed=args.seed, disable_tqdm=True, logging_strategy="no",
    )
    trainer = Trainer(BertForSequenceClassification(config), settings, train_dataset=Sentences(400), eval_dataset=Sentences(100),
                      data_collator=collate, compute_metrics=metrics, callbacks=[EarlyStoppingCallback(3)])
    trainer.train()
    print("best accuracy", trainer.state.best_metric)

# SPDX-License-Identifier: Apache-2.0
