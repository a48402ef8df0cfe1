"""A tiny BERT from a config, trained as a sentence classifier with the transformers Trainer and early stopping."""

import argparse
import random
import tempfile

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    EarlyStoppingCallback,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.utils import logging

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--steps", type=int, default=210)
args = parser.parse_args()
torch.set_num_threads(1)
logging.set_verbosity_error()
logging.disable_progress_bar()
set_seed(args.seed)

SUBJECTS = ["the food", "the room", "our waiter", "this hotel", "the view", "breakfast", "the staff"]
GOOD = ["great", "lovely", "friendly", "clean", "tasty", "superb"]
BAD = ["awful", "dirty", "rude", "cold", "noisy", "bland"]
FILLERS = ["really", "honestly", "quite", "as always", "this time", "for the price"]
WORDS = sorted({w for part in SUBJECTS + GOOD + BAD + FILLERS + ["was not and but i think"] for w in part.split()})
VOCAB = {w: i for i, w in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]"] + WORDS)}


def sentence():
    label = random.randint(0, 1)
    words, counts = [], [0, 0]
    for clause in range(random.choice([1, 1, 2, 3])):
        mood = label if clause == 0 or random.random() < 0.8 else 1 - label
        negate = random.random() < 0.25
        word = random.choice(GOOD if mood != negate else BAD)
        words += ["but" if clause else random.choice(FILLERS), random.choice(SUBJECTS), "was"]
        words += (["not"] if negate else []) + [word]
        counts[mood] += 1
    if counts[0] == counts[1]:
        return sentence()
    return " ".join(words), int(counts[1] > counts[0])


def encode(text):
    return [VOCAB["[CLS]"]] + [VOCAB.get(w, VOCAB["[UNK]"]) for w in text.split()] + [VOCAB["[SEP]"]]


class Reviews(Dataset):
    def __init__(self, n):
        self.rows = [sentence() for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, label = self.rows[i]
        return {"input_ids": encode(text), "labels": label}


def collate(features):
    longest = max(len(f["input_ids"]) for f in features)
    ids = torch.full((len(features), longest), VOCAB["[PAD]"])
    mask = torch.zeros(len(features), longest, dtype=torch.long)
    for row, f in enumerate(features):
        ids[row, : len(f["input_ids"])] = torch.tensor(f["input_ids"])
        mask[row, : len(f["input_ids"])] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([f["labels"] for f in features])}


def metrics(prediction):
    return {"accuracy": float((np.argmax(prediction.predictions, 1) == prediction.label_ids).mean())}


config = BertConfig(
    vocab_size=len(VOCAB), hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
    max_position_embeddings=40, num_labels=2, pad_token_id=VOCAB["[PAD]"],
)
model = BertForSequenceClassification(config)
with tempfile.TemporaryDirectory() as folder:
    training = TrainingArguments(
        output_dir=folder, max_steps=args.steps, learning_rate=args.lr, per_device_train_batch_size=32,
        per_device_eval_batch_size=128, warmup_steps=20, lr_scheduler_type="linear", weight_decay=0.01,
        eval_strategy="steps", eval_steps=30, save_strategy="steps", save_steps=30, save_total_limit=1,
        load_best_model_at_end=True, metric_for_best_model="accuracy", greater_is_better=True,
        report_to=[], disable_tqdm=True, seed=args.seed, use_cpu=True, logging_steps=70,
    )
    trainer = Trainer(
        model=model, args=training, train_dataset=Reviews(2000), eval_dataset=Reviews(256), data_collator=collate,
        compute_metrics=metrics, callbacks=[EarlyStoppingCallback(early_stopping_patience=3)],
    )
    trainer.train()
    print(f"steps {trainer.state.global_step} accuracy {trainer.evaluate()['eval_accuracy']:.3f}")
