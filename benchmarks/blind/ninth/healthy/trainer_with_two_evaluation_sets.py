"""transformers' Trainer with sampling by length, two sets of evaluation and a budget of words as a callback."""

import argparse
import os
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import numpy as np
import torch
from sklearn.metrics import matthews_corrcoef
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainerCallback
from transformers import TrainingArguments, set_seed

PAD = 0


class Counts(Dataset):
    """Are there more high than low words? Rows have lengths of their own."""

    def __init__(self, size, shortest, longest, rng):
        self.rows = []
        for _ in range(size):
            ids = rng.integers(1, 20, int(rng.integers(shortest, longest + 1)))
            self.rows.append({"input_ids": ids.tolist(), "labels": int((ids >= 10).mean() > 0.5), "length": len(ids)})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def collate(rows):
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.tensor([row["input_ids"] + [PAD] * (longest - len(row["input_ids"])) for row in rows])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": torch.tensor([row["labels"] for row in rows])}


class Budget(TrainerCallback):
    """Ends training when so many words were seen; asks for an evaluation when the loss has fallen by a fifth."""

    def __init__(self, words):
        self.words, self.seen, self.level = words, 0, None

    def count(self, batch):
        self.seen += int(batch["attention_mask"].sum())
        return batch

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            loss = float(logs["loss"])
            print(f"step {state.global_step}: loss {loss:.4f}, {self.seen} words")
            if self.level is None or loss < 0.8 * self.level:
                self.level = loss
                control.should_evaluate = True
        return control

    def on_step_end(self, args, state, control, **kwargs):
        if self.seen > self.words:
            control.should_training_stop = True
        return control

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        for key, score in metrics.items():
            if key.endswith("matthews"):
                print(f"step {state.global_step}: {key} {score:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=90)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    train = Counts(500, 4, 14, rng)
    sets = {"short": Counts(80, 4, 8, rng), "long": Counts(40, 12, 14, rng)}
    budget = Budget(words=args.steps * 200)
    config = DistilBertConfig(vocab_size=20, dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=16)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, max_steps=args.steps, per_device_train_batch_size=24,
            learning_rate=args.lr, lr_scheduler_type="cosine", warmup_steps=8, logging_steps=15, eval_strategy="no",
            save_strategy="no", train_sampling_strategy="group_by_length", seed=args.seed, use_cpu=True, report_to="none",
            disable_tqdm=True)
        trainer = Trainer(
            model=DistilBertForSequenceClassification(config), args=arguments, train_dataset=train, eval_dataset=sets,
            data_collator=lambda rows: budget.count(collate(rows)) if trainer.model.training else collate(rows),
            callbacks=[budget],
            compute_metrics=lambda out: {"matthews": matthews_corrcoef(out.label_ids, out.predictions.argmax(-1))})
        trainer.train()
        trainer.evaluate()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
