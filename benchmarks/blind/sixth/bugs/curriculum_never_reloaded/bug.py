"""Lightning with a curriculum: `train_dataloader` makes longer rows as epochs go by."""

import argparse
import logging
import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=64)
args = parser.parse_args()
EPOCHS, SYMBOLS = 4, 5


def rows(count, length, generator):
    """Is the first symbol seen again?"""
    x = torch.randint(SYMBOLS, (count, length), generator=generator)
    return TensorDataset(x, (x[:, 1:] == x[:, :1]).any(1).float())


class Curriculum(lightning.LightningDataModule):
    def __init__(self, seed, batches):
        super().__init__()
        self.generator, self.batches, self.lengths = torch.Generator().manual_seed(seed), batches, []

    def train_dataloader(self):
        length = 4 + 2 * self.trainer.current_epoch
        return DataLoader(rows(16 * self.batches, length, self.generator), batch_size=16, shuffle=True)

    def val_dataloader(self):
        return DataLoader(rows(128, 4 + 2 * EPOCHS, torch.Generator().manual_seed(1)), batch_size=64)


class Recogniser(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, 16)
        self.rnn = nn.GRU(16, 32, batch_first=True)
        self.head = nn.Linear(32, 1)
        self.longest = 0

    def forward(self, x):
        return self.head(self.rnn(self.embed(x))[1][-1]).squeeze(1)

    def training_step(self, batch, number):
        x, y = batch
        self.longest = max(self.longest, x.shape[1])
        loss = nn.functional.binary_cross_entropy_with_logits(self(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, number):
        x, y = batch
        self.log("valid", nn.functional.binary_cross_entropy_with_logits(self(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=args.lr)


def main():
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    lightning.seed_everything(args.seed, verbose=False)
    model = Recogniser()
    trainer = lightning.Trainer(max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(model, datamodule=Curriculum(args.seed, args.steps // EPOCHS))
    print(f"EVIDENCE the longest rows have {model.longest} symbols, validation {trainer.callback_metrics['valid']:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
