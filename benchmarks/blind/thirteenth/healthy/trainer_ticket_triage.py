"""Support tickets sorted by team: Trainer with a small DistilBERT, first trained as MLM, then fine-tuned."""

import argparse
import os
import random
import tempfile

import numpy as np
import torch
from sklearn.metrics import f1_score
from torch.utils.data import Dataset
from transformers import (
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForSequenceClassification,
    EarlyStoppingCallback,
    PrinterCallback,
    Trainer,
    TrainingArguments,
    logging,
    set_seed,
)

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=7, help="epochs of fine-tuning")
args = parser.parse_args()
set_seed(args.seed)
torch.set_num_threads(1)
logging.set_verbosity_error()
logging.disable_progress_bar()

TEAMS = {
    "billing": "invoice charged refund card payment twice price receipt tax".split(),
    "login": "password reset locked account code sign expired link email".split(),
    "delivery": "parcel late courier address lost tracking box arrived damaged".split(),
}
FILLER = "hello please i my the was is with and still again today help thanks we cannot for it".split()
VOCAB = ["[PAD]", "[CLS]", "[MASK]", "[UNK]"] + sorted({w for ws in TEAMS.values() for w in ws} | set(FILLER))
INDEX = {w: i for i, w in enumerate(VOCAB)}


def make_ticket(rng):
    team = rng.randrange(3)
    names = list(TEAMS)
    words = [rng.choice(FILLER) for _ in range(rng.randint(5, 14))]
    for _ in range(rng.randint(2, 4)):
        words.insert(rng.randrange(len(words)), rng.choice(TEAMS[names[team]]))
    if rng.random() < 0.5:
        words.insert(rng.randrange(len(words)), rng.choice(TEAMS[names[rng.randrange(3)]]))
    return " ".join(words), team


class Tickets(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, label = self.rows[i]
        return {"ids": [1] + [INDEX.get(w, 3) for w in text.split()], "label": label}


def pad(rows):
    width = max(len(r["ids"]) for r in rows)
    ids = torch.tensor([r["ids"] + [0] * (width - len(r["ids"])) for r in rows])
    return {"input_ids": ids, "attention_mask": (ids != 0).long()}


def collate_mlm(rows):
    batch = pad(rows)
    chosen = (torch.rand(batch["input_ids"].shape) < 0.2) & (batch["input_ids"] > 3)
    batch["labels"] = batch["input_ids"].masked_fill(~chosen, -100)
    batch["input_ids"] = batch["input_ids"].masked_fill(chosen, INDEX["[MASK]"])
    return batch


def collate_labels(rows):
    return {**pad(rows), "labels": torch.tensor([r["label"] for r in rows])}


def compute_metrics(prediction):
    guess = np.argmax(prediction.predictions, axis=1)
    return {"f1": f1_score(prediction.label_ids, guess, average="macro")}


rng = random.Random(args.seed)
unlabelled = Tickets([make_ticket(rng) for _ in range(640)])
train, val = Tickets([make_ticket(rng) for _ in range(640)]), Tickets([make_ticket(rng) for _ in range(150)])
config = DistilBertConfig(vocab_size=len(VOCAB), dim=48, n_layers=2, n_heads=4, hidden_dim=96,
                          max_position_embeddings=32, pad_token_id=0, num_labels=3)

with tempfile.TemporaryDirectory() as folder:
    common = dict(
        seed=args.seed, report_to=[], disable_tqdm=True, use_cpu=True, remove_unused_columns=False,
        learning_rate=args.lr, dataloader_num_workers=0, logging_strategy="no", warmup_steps=10,
    )
    mlm = Trainer(
        model=DistilBertForMaskedLM(config),
        args=TrainingArguments(os.path.join(folder, "mlm"), num_train_epochs=4, save_strategy="no",
                               per_device_train_batch_size=32, **common),
        train_dataset=unlabelled, data_collator=collate_mlm,
    )
    mlm.remove_callback(PrinterCallback)
    mlm.train()
    mlm.save_model(os.path.join(folder, "base"))
    model = DistilBertForSequenceClassification.from_pretrained(os.path.join(folder, "base"), num_labels=3)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(os.path.join(folder, "clf"), num_train_epochs=args.steps, eval_strategy="epoch",
                               save_strategy="epoch", save_total_limit=1, load_best_model_at_end=True,
                               metric_for_best_model="f1", per_device_train_batch_size=16, weight_decay=0.01,
                               lr_scheduler_type="cosine", **common),
        train_dataset=train, eval_dataset=val, data_collator=collate_labels,
        compute_metrics=compute_metrics, callbacks=[EarlyStoppingCallback(3)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    print(f"f1 {trainer.evaluate()['eval_f1']:.3f} after {trainer.state.global_step} steps")
