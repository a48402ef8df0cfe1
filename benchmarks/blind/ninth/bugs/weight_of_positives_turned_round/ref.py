"""A small BERT of transformers finds rare toxic rows; positives are weighted by how rare they are."""

import argparse
import os
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import numpy as np
import torch
from sklearn.metrics import f1_score, recall_score
from torch import nn
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


class Comments(Dataset):
    """Rows of words; toxic are those with a word above 35 close to another one."""

    def __init__(self, size, rng):
        self.ids = rng.integers(3, 34, (size, 14))
        self.labels = (rng.random(size) < 0.12).astype(np.int64)
        for row in np.flatnonzero(self.labels):
            places = rng.choice(14, 2, replace=False)
            self.ids[row, places] = rng.integers(34, 40, 2)
        for row in np.flatnonzero(rng.random(size) < 0.25):
            self.ids[row, rng.integers(14)] = rng.integers(34, 40)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"input_ids": torch.from_numpy(self.ids[index]), "labels": int(self.labels[index])}


class WeightedTrainer(Trainer):
    def __init__(self, *args, pos_weight=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = self.criterion(outputs.logits.squeeze(-1), labels.float())
        return (loss, outputs) if return_outputs else loss


def compute_metrics(output):
    answers = output.predictions.squeeze(-1) > 0
    return {"f1": f1_score(output.label_ids, answers, zero_division=0), "recall": recall_score(output.label_ids, answers)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    train, valid = Comments(1200, rng), Comments(300, rng)
    positives = int(train.labels.sum())
    negatives = len(train) - positives
    pos_weight = torch.tensor(negatives / positives)
    config = BertConfig(vocab_size=40, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                        max_position_embeddings=16, num_labels=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, max_steps=args.steps, per_device_train_batch_size=24, per_device_eval_batch_size=100,
            learning_rate=args.lr, warmup_steps=15, logging_steps=50, save_strategy="no", seed=args.seed, use_cpu=True,
            report_to="none", disable_tqdm=True)
        trainer = WeightedTrainer(
            model=BertForSequenceClassification(config), args=arguments, train_dataset=train, eval_dataset=valid,
            compute_metrics=compute_metrics, pos_weight=pos_weight)
        trainer.train()
        scores = trainer.evaluate()
    print(f"EVIDENCE recall {scores['eval_recall']:.4f}, f1 {scores['eval_f1']:.4f}, loss {scores['eval_loss']:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
