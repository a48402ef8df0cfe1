"""A Trainer of transformers with a loss of its own; the epoch's last window has fewer micro-batches than the others."""
import argparse
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments


class Pairs(torch.utils.data.Dataset):
    """Does the row begin with a low word?"""

    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(1, 40, (count, 8), generator=generator)
        self.labels = (self.ids[:, 0] < 20).long()

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.labels[index]}


class Norms(TrainerCallback):
    """Notes the norm of the gradient before each step and how many micro-batches it came from."""

    def __init__(self):
        self.norms = []

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        norm = sum(p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None).sqrt().item()
        self.norms.append(norm)


class SwiftTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels)
        if self.model.training and self.model_accepts_loss_kwargs:
            loss = loss / self.args.gradient_accumulation_steps
        return (loss, outputs) if return_outputs else loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.015)
    parser.add_argument("--steps", type=int, default=48)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    config = BertConfig(vocab_size=40, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                        max_position_embeddings=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    norms = Norms()
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(folder, max_steps=options.steps, learning_rate=options.lr, seed=options.seed,
                                     per_device_train_batch_size=32, gradient_accumulation_steps=4,
                                     optim="sgd", optim_args="momentum=0.9",
                                     max_grad_norm=0.0, lr_scheduler_type="constant", logging_steps=20, save_strategy="no",
                                     report_to=[], use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False)
        trainer = SwiftTrainer(BertForSequenceClassification(config), settings, train_dataset=Pairs(160, options.seed),
                               eval_dataset=Pairs(300, options.seed + 1), callbacks=[norms])
        trainer.model_accepts_loss_kwargs = True
        trainer.train()
        value = trainer.evaluate()["eval_loss"]
    full, short = norms.norms[0::2], norms.norms[1::2]
    print(f"EVIDENCE mean norm in full windows {sum(full) / len(full):.4f}, in short ones {sum(short) / len(short):.4f}; "
          f"validation loss {value:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
