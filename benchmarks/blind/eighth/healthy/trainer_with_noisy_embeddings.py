"""Transformers' Trainer: noise on embeddings in training only, padding to the longest row of a batch, a callback that thaws."""
import argparse
import tempfile

import torch
from transformers import (DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainerCallback,
                          TrainingArguments)


class Reviews(torch.utils.data.Dataset):
    """A row is good if it has more words below 20 than above; words 0 to 3 are special."""

    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(count):
            length = int(torch.randint(4, 20, (), generator=generator))
            ids = torch.randint(4, 36, (length,), generator=generator)
            self.rows.append({"input_ids": ids.tolist(), "labels": int((ids < 20).float().mean() > 0.5)})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return dict(self.rows[index])


def collate(rows):
    longest = max(len(r["input_ids"]) for r in rows)
    return {"input_ids": torch.tensor([r["input_ids"] + [0] * (longest - len(r["input_ids"])) for r in rows]),
            "attention_mask": torch.tensor([[1] * len(r["input_ids"]) + [0] * (longest - len(r["input_ids"])) for r in rows]),
            "labels": torch.tensor([r["labels"] for r in rows])}


class ThawFromTheTop(TrainerCallback):
    """The encoder rests for the first third; its parameters are in the optimizer all the time."""

    def __init__(self, model, at):
        self.encoder, self.at = model.distilbert.transformer, at
        self.encoder.requires_grad_(False)

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == self.at:
            self.encoder.requires_grad_(True)

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        print(f"step {state.global_step}: {metrics['eval_loss']:.4f}, right {metrics['eval_right']:.4f}")
        if metrics["eval_right"] > 0.97:
            control.should_training_stop = True


def compute_metrics(prediction):
    return {"right": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.004)
    parser.add_argument("--steps", type=int, default=90)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    model = DistilBertForSequenceClassification(DistilBertConfig(vocab_size=36, dim=32, n_layers=1, n_heads=2, hidden_dim=64,
                                                                 max_position_embeddings=24, dropout=0.05))
    groups = [{"params": [p for n, p in model.named_parameters() if p.ndim > 1], "weight_decay": 0.01},
              {"params": [p for n, p in model.named_parameters() if p.ndim <= 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=options.lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(folder, max_steps=options.steps, seed=options.seed, per_device_train_batch_size=32,
                                     per_device_eval_batch_size=100, neftune_noise_alpha=2.0, eval_strategy="steps",
                                     eval_steps=max(1, options.steps // 4), save_strategy="no", logging_steps=30, report_to=[],
                                     use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False, label_smoothing_factor=0.05)
        trainer = Trainer(model, settings, data_collator=collate, train_dataset=Reviews(1500, options.seed),
                          eval_dataset=Reviews(300, options.seed + 1), compute_metrics=compute_metrics,
                          optimizers=(optimizer, schedule), callbacks=[ThawFromTheTop(model, options.steps // 3)])
        trainer.train()
        print(f"at the end: right {trainer.evaluate()['eval_right']:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
