"""The Trainer of transformers with an optimizer, a schedule, a loss and callbacks of our own; it may stop early."""

import argparse
import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=36)
args = parser.parse_args()
WORDS, LENGTH = 30, 12


class Weighted(Trainer):
    """Rare labels count more; the loss of short texts is left as it is."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels, weight=torch.tensor([0.7, 1.3]))
        if self.model_accepts_loss_kwargs and num_items_in_batch is not None:
            loss = loss / self.current_gradient_accumulation_steps
        return (loss, outputs) if return_outputs else loss


class StopWhenGood(TrainerCallback):
    def on_evaluate(self, arguments, state, control, metrics=None, **kwargs):
        print(f"step {state.global_step}: {metrics['eval_right']:.3f} are right")
        if metrics["eval_right"] > 0.995:
            control.should_training_stop = True

    def on_step_end(self, arguments, state, control, **kwargs):
        if state.global_step in (5, 11):
            control.should_evaluate = True


def texts(count):
    rows = []
    for _ in range(count):
        length = int(torch.randint(4, LENGTH + 1, ()))
        words = torch.randint(2, WORDS, (length,))
        label = int((words > 17).sum() * 2 > length)
        rows.append({"input_ids": words, "labels": label})
    return rows


def collate(rows):
    ids = torch.nn.utils.rnn.pad_sequence([row["input_ids"] for row in rows], batch_first=True)
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.tensor([row["labels"] for row in rows])}


def measure(prediction):
    return {"right": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = BertForSequenceClassification(BertConfig(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2,
                                                 num_attention_heads=4, intermediate_size=64, num_labels=2,
                                                 max_position_embeddings=LENGTH))
body = [p for name, p in model.named_parameters() if not name.startswith("classifier")]
optimizer = torch.optim.AdamW([{"params": body}, {"params": model.classifier.parameters(), "lr": 5 * args.lr}], lr=args.lr,
                              weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 6))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, max_steps=args.steps, per_device_train_batch_size=8, eval_strategy="steps",
                                  eval_steps=9, gradient_accumulation_steps=3, report_to=[], save_strategy="no",
                                  logging_strategy="no", seed=args.seed, use_cpu=True, disable_tqdm=True,
                                  dataloader_pin_memory=False, max_grad_norm=1.0)
    trainer = Weighted(model=model, args=arguments, train_dataset=texts(400), eval_dataset=texts(100),
                       data_collator=collate, compute_metrics=measure, optimizers=(optimizer, scheduler),
                       callbacks=[StopWhenGood()])
    result = trainer.train()
print(f"{result.global_step} steps, mean loss {result.training_loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
