"""The Trainer of transformers with a loss of our own: samples have a column that says how much they count."""

import argparse
import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from torch.nn.functional import cross_entropy
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
WORDS, LENGTH = 30, 8


class ImportanceTrainer(Trainer):
    """Samples without an importance count as one."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        importance = inputs.pop("importance", None)
        outputs = model(**inputs)
        losses = cross_entropy(outputs.logits, inputs["labels"], reduction="none")
        if importance is None:
            loss = losses.mean()
        else:
            loss = (losses * importance).sum() / importance.sum()
        return (loss, outputs) if return_outputs else loss


def texts(count, noisy):
    """A part of the labels is wrong; those are known to be doubtful and count little."""
    rows = []
    for _ in range(count):
        ids = torch.randint(1, WORDS, (LENGTH,))
        label, doubtful = int(ids[0] + ids[1] > WORDS), noisy and bool(torch.rand(()) < 0.45)
        rows.append({"input_ids": ids, "attention_mask": torch.ones(LENGTH, dtype=torch.long),
                     "labels": 1 if doubtful else label, "importance": 0.02 if doubtful else 1.0})
    return rows


def collate(rows):
    batch = {key: torch.stack([row[key] for row in rows]) for key in ("input_ids", "attention_mask")}
    batch["labels"] = torch.tensor([row["labels"] for row in rows])
    if "importance" in rows[0]:
        batch["importance"] = torch.tensor([row["importance"] for row in rows])
    return batch


def share_of_ones(model, rows):
    model.eval()
    with torch.no_grad():
        guess = model(torch.stack([row["input_ids"] for row in rows])).logits.argmax(1)
    truth = torch.tensor([row["labels"] for row in rows])
    return (guess == truth).float().mean().item(), guess.float().mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
train, valid = texts(320, True), texts(100, False)
model = BertForSequenceClassification(BertConfig(vocab_size=WORDS, hidden_size=32, num_hidden_layers=1, num_labels=2,
                                                 num_attention_heads=2, intermediate_size=64, max_position_embeddings=LENGTH))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, max_steps=args.steps, per_device_train_batch_size=16, learning_rate=args.lr,
                                  report_to=[], save_strategy="no", logging_strategy="no",
                                  seed=args.seed, use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False)
    result = ImportanceTrainer(model=model, args=arguments, train_dataset=train, data_collator=collate).train()
right, ones = share_of_ones(model, valid)
print(f"EVIDENCE mean loss {result.training_loss:.4f}, {right:.3f} of the answers are right, {ones:.3f} are ones")

# SPDX-License-Identifier: Apache-2.0
