"""A small BERT of transformers is trained half way, stopped, and goes on from its checkpoint."""
import argparse
import os
import tempfile

os.environ["TQDM_DISABLE"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments, logging

logging.set_verbosity_error()
logging.disable_progress_bar()


class Sequences(Dataset):
    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(3, 30, (count, 10), generator=generator)
        self.labels = (self.ids[:, :5].sum(1) > self.ids[:, 5:].sum(1)).long()

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}


class StopAt(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            control.should_training_stop = True


class Rates(TrainerCallback):
    def __init__(self):
        self.rates, self.losses = [], []

    def on_log(self, args, state, control, logs, **kwargs):
        if "learning_rate" in logs:
            self.rates.append(logs["learning_rate"])
            self.losses.append(logs["loss"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    config = BertConfig(vocab_size=30, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                        max_position_embeddings=16, num_labels=2)
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(folder, max_steps=args.steps, per_device_train_batch_size=32, learning_rate=args.lr,
                                     save_steps=args.steps // 2, logging_steps=10, seed=args.seed, report_to=[],
                                     use_cpu=True, disable_tqdm=True)
        data, rates = Sequences(1200, args.seed), Rates()
        half = StopAt(args.steps // 2)
        first = Trainer(BertForSequenceClassification(config), settings, train_dataset=data, callbacks=[half])
        first.train()
        checkpoint = os.path.join(folder, f"checkpoint-{args.steps // 2}")
        model = BertForSequenceClassification.from_pretrained(checkpoint)
        second = Trainer(model, settings, train_dataset=data, callbacks=[rates])
        second.train(resume_from_checkpoint=checkpoint)
    print(f"EVIDENCE first rate of the second part {rates.rates[0]:.6f}, it logged {len(rates.rates)} times, "
          f"last loss {rates.losses[-1]:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
