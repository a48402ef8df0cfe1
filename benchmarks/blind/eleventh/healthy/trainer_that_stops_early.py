"""transformers' Trainer: DistilBERT with pairs of sentences padded by batch, metrics in numpy, early stopping, the best model loaded."""
import argparse
import os
import random
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification, EarlyStoppingCallback, PrinterCallback, Trainer, TrainingArguments
from transformers.trainer_callback import TrainerCallback
from transformers.utils import logging

logging.disable_progress_bar()

PAD, CLS, SEP, WORDS = 0, 1, 2, 40


class Pairs(Dataset):
    """The second sentence holds a marked word of the first one or it does not."""

    def __init__(self, size, rng):
        self.items = []
        for _ in range(size):
            first = rng.sample(range(3, 23), rng.randint(2, 5))
            label = rng.randint(0, 1)
            second = [w + 20 for w in rng.sample(range(3, 19), rng.randint(2, 5)) if w % 4 != 0] + [23 if label else 27]
            rng.shuffle(second)
            self.items.append({"input_ids": [CLS, *first, SEP, *second, SEP], "labels": label if rng.random() < 0.95 else 1 - label})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate(items):
    longest = max(len(i["input_ids"]) for i in items)
    ids = torch.tensor([i["input_ids"] + [PAD] * (longest - len(i["input_ids"])) for i in items])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": torch.tensor([i["labels"] for i in items])}


def metrics(prediction):
    guess = np.argmax(prediction.predictions, -1)
    return {"right": float((guess == prediction.label_ids).mean())}


class Report(TrainerCallback):
    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        print(f"step {state.global_step}: valid {metrics['eval_loss']:.4f}, right {metrics['eval_right']:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    train, valid = Pairs(600, rng), Pairs(150, rng)
    model = DistilBertForSequenceClassification(DistilBertConfig(vocab_size=WORDS + 8, dim=32, n_layers=2, n_heads=2, hidden_dim=64,
                                                                max_position_embeddings=24))
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(folder, seed=args.seed, max_steps=args.steps, learning_rate=args.lr, per_device_train_batch_size=16,
                                     per_device_eval_batch_size=75, eval_strategy="steps", eval_steps=15, save_strategy="steps", save_steps=15,
                                     save_total_limit=2, load_best_model_at_end=True, metric_for_best_model="right", warmup_steps=8,
                                     lr_scheduler_type="cosine", weight_decay=0.01, report_to=[], disable_tqdm=True, logging_steps=1000, use_cpu=True)
        trainer = Trainer(model, settings, train_dataset=train, eval_dataset=valid, data_collator=collate, compute_metrics=metrics,
                          callbacks=[EarlyStoppingCallback(3, 0.002), Report()])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        print(f"best: right {trainer.evaluate()['eval_right']:.4f} after {trainer.state.global_step} steps")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
