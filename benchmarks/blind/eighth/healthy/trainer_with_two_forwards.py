"""The Trainer of transformers: two forwards with unlike dropout are drawn together, embeddings are frozen in the beginning."""

import argparse
import os
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import numpy as np
import torch
from torch.nn import functional as F
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed


class Reviews(Dataset):
    def __init__(self, size, rng):
        self.items = []
        for _ in range(size):
            label, length = int(rng.integers(2)), int(rng.integers(6, 18))
            words = rng.integers(3, 50, length)
            told = rng.random(length) < 0.35
            words[told] = (rng.integers(3, 20, length) + 25 * label)[told]
            self.items.append({"input_ids": words.tolist(), "labels": label})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate(items):
    longest = max(len(item["input_ids"]) for item in items)
    ids = torch.zeros(len(items), longest, dtype=torch.long)
    for row, item in zip(ids, items):
        row[:len(item["input_ids"])] = torch.tensor(item["input_ids"])
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.tensor([i["labels"] for i in items])}


class TwoForwards(Trainer):
    """While the model is training, a second forward is compared with the first; only now and then in the beginning."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss
        if model.training and (self.state.global_step > 40 or self.state.global_step % 4 == 0):
            again = model(**inputs)
            first, second = (F.log_softmax(o.logits, -1) for o in (outputs, again))
            apart = F.kl_div(first, second, log_target=True, reduction="batchmean")
            apart = apart + F.kl_div(second, first, log_target=True, reduction="batchmean")
            loss = (loss + again.loss) / 2 + 0.5 * apart
        return (loss, outputs) if return_outputs else loss


class Thaw(TrainerCallback):
    def __init__(self, at):
        self.at, self.best, self.worse = at, float("inf"), 0

    def on_train_begin(self, args, state, control, model=None, **kwargs):
        model.distilbert.embeddings.requires_grad_(False)

    def on_step_begin(self, args, state, control, model=None, **kwargs):
        if state.global_step == self.at:
            model.distilbert.embeddings.requires_grad_(True)

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step in (15, 40, 41, 90):
            control.should_evaluate = True

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        print(f"step {state.global_step}: eval loss {metrics['eval_loss']:.4f}, right {metrics['eval_right']:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    config = DistilBertConfig(vocab_size=50, dim=32, hidden_dim=64, n_layers=2, n_heads=2, max_position_embeddings=20,
                              num_labels=2, pad_token_id=0, dropout=0.1)
    model = DistilBertForSequenceClassification(config)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, max_steps=args.steps, per_device_train_batch_size=16, learning_rate=args.lr, weight_decay=0.01,
            lr_scheduler_type="cosine", warmup_steps=8, max_grad_norm=1.0, logging_steps=25, eval_strategy="no",
            save_strategy="no", seed=args.seed, use_cpu=True, report_to="none", disable_tqdm=True)
        trainer = TwoForwards(
            model=model, args=arguments, train_dataset=Reviews(600, rng), eval_dataset=Reviews(150, rng), data_collator=collate,
            callbacks=[Thaw(args.steps // 4)],
            compute_metrics=lambda p: {"right": float((p.predictions.argmax(-1) == p.label_ids).mean())})
        trainer.train()
        print(f"in the end {trainer.evaluate()['eval_loss']:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
