"""peft on a sequence classifier in the Trainer: adapters in attention, the new head saved along with them."""

import tempfile
import warnings

import torch
from peft import LoraConfig, TaskType, get_peft_model
from sklearn.datasets import load_digits
from torch.utils.data import Dataset
from transformers import RobertaConfig, RobertaForSequenceClassification, Trainer, TrainingArguments, set_seed
from transformers.utils import logging

from options import options

logging.set_verbosity_error()
warnings.filterwarnings("ignore")


class Rows(Dataset):
    def __init__(self, start, stop):
        digits = load_digits()
        keep = digits.target < 2
        self.ids = torch.tensor(digits.data[keep][start:stop], dtype=torch.long) + 3
        self.labels = torch.tensor(digits.target[keep][start:stop])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}


def main():
    args = options(lr=5e-3, width=32, steps=32)
    torch.set_num_threads(1)
    set_seed(args.seed)
    model = RobertaForSequenceClassification(
        RobertaConfig(
            vocab_size=20, hidden_size=args.width, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=2 * args.width, max_position_embeddings=70, num_labels=2, pad_token_id=0,
            initializer_range=0.1,
        )
    )  # fmt: skip
    model = get_peft_model(model, LoraConfig(task_type=TaskType.SEQ_CLS, r=4, target_modules=["query", "value"]))
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=folder, max_steps=args.steps, per_device_train_batch_size=16, learning_rate=args.lr,
                eval_strategy="steps", eval_steps=max(1, args.steps // 2), save_strategy="no", report_to="none",
                disable_tqdm=True, use_cpu=True, seed=args.seed, logging_steps=8,
            ),
            train_dataset=Rows(0, 280),
            eval_dataset=Rows(280, 360),
        )  # fmt: skip
        trainer.train()
        model.save_pretrained(folder)
        print(f"eval loss {trainer.evaluate()['eval_loss']:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
