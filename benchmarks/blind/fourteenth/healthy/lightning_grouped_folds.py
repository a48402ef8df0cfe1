"""Lightning over the folds of a grouped cross validation: accumulation that changes, mixed batches now and then, early stops, predictions out of fold."""

import argparse
import logging
import tempfile
import warnings

import lightning.pytorch as pl
import numpy as np
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, GradientAccumulationScheduler, ModelCheckpoint
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=6e-3)
parser.add_argument("--steps", type=int, default=10, help="at most so many epochs for a fold")
args = parser.parse_args()
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.set_num_threads(1)
pl.seed_everything(args.seed, verbose=False)

LENGTH = 80


def record_beats(patients=60):
    """Heart beats of patients; an abnormal beat is wide and early. Every patient has an own gain and shape."""
    rng = np.random.default_rng(args.seed)
    beats, label, group = [], [], []
    time = np.linspace(-1, 1, LENGTH)
    for patient in range(patients):
        gain, width, lean = rng.uniform(0.7, 1.4), rng.uniform(0.05, 0.09), rng.normal(0, 0.15)
        share = rng.beta(1.5, 4)
        for _ in range(rng.integers(12, 40)):
            odd = rng.random() < share
            centre, wide = rng.normal(-0.08 if odd else 0, 0.06), width * (rng.uniform(1.2, 2.2) if odd else rng.uniform(0.8, 1.2))
            beat = np.exp(-(((time - centre) / wide) ** 2)) - 0.25 * np.exp(-(((time - centre - 0.2) / 0.1) ** 2))
            beat += (0.25 if not odd else -0.1) * np.exp(-(((time - 0.55 - lean) / 0.15) ** 2))
            beats.append(gain * beat + 0.15 * rng.normal(size=LENGTH) + 0.1 * np.sin(3 * time + rng.uniform(0, 6)))
            label.append(odd)
            group.append(patient)
    return np.array(beats, dtype=np.float32), np.array(label, dtype=np.float32), np.array(group)


class Beats(Dataset):
    def __init__(self, beats, label, augment):
        self.beats, self.label, self.augment = torch.as_tensor(beats), torch.as_tensor(label), augment

    def __len__(self):
        return len(self.label)

    def __getitem__(self, row):
        beat = self.beats[row]
        if self.augment:
            beat = torch.roll(beat, int(torch.randint(-4, 5, ()))) * (0.8 + 0.4 * torch.rand(()))
            if torch.rand(()) < 0.3:
                beat = beat + 0.1 * torch.randn(LENGTH)
        return beat[None], self.label[row]


class BeatData(pl.LightningDataModule):
    def __init__(self, train, valid):
        super().__init__()
        self.train, self.valid = train, valid

    def train_dataloader(self):
        label = self.train.label
        share = label.mean().clamp(0.05, 0.95)
        weight = torch.where(label == 1, 0.4 / share, 0.6 / (1 - share))
        return DataLoader(self.train, batch_size=32, sampler=WeightedRandomSampler(weight, len(label)), drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.valid, batch_size=256)


class BeatNet(pl.LightningModule):
    def __init__(self, lr=1e-3, width=16):
        super().__init__()
        self.save_hyperparameters()
        self.stem = nn.Sequential(nn.Conv1d(1, width, 9, padding=4), nn.BatchNorm1d(width), nn.ReLU(), nn.MaxPool1d(2))
        self.deep = nn.Sequential(nn.Conv1d(width, 2 * width, 5, padding=2), nn.BatchNorm1d(2 * width), nn.ReLU())
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(8 * width, 1))
        self.outputs = []

    def forward(self, x):
        return self.head(F.adaptive_avg_pool1d(self.deep(self.stem(x)), 4)).squeeze(1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        if torch.rand(()) < 0.25:
            lam, order = float(np.random.beta(0.4, 0.4)), torch.randperm(len(x))
            x, y = lam * x + (1 - lam) * x[order], lam * y + (1 - lam) * y[order]
        loss = F.binary_cross_entropy_with_logits(self(x), y)
        self.log("loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        self.outputs.append((self(batch[0]), batch[1]))

    def on_validation_epoch_end(self):
        logit, y = (torch.cat(part) for part in zip(*self.outputs))
        self.outputs.clear()
        self.log("auc", roc_auc_score(y.numpy(), logit.float().numpy()))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=1e-2)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=1)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "auc"}}


beats, label, group = record_beats()
scores, answers = np.zeros(len(label)), label
with tempfile.TemporaryDirectory() as folder:
    for fold, (train, valid) in enumerate(StratifiedGroupKFold(3, shuffle=True, random_state=args.seed).split(beats, label, group)):
        centre, spread = beats[train].mean(), beats[train].std()
        parts = [Beats((beats[rows] - centre) / spread, label[rows], rows is train) for rows in (train, valid)]
        best = ModelCheckpoint(f"{folder}/{fold}", monitor="auc", mode="max", save_top_k=1)
        trainer = pl.Trainer(
            max_epochs=args.steps, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False,
            callbacks=[EarlyStopping("auc", mode="max", patience=3), GradientAccumulationScheduler({4: 2}), best],
            gradient_clip_val=1.0, num_sanity_val_steps=0, default_root_dir=folder,
        )
        model = BeatNet(lr=args.lr, width=[12, 16, 20][fold])
        trainer.fit(model, datamodule=BeatData(*parts))
        chosen = BeatNet.load_from_checkpoint(best.best_model_path, weights_only=False).eval()
        with torch.no_grad():
            shifts = [torch.roll(parts[1].beats[:, None], shift, dims=2) for shift in (-2, 0, 2)]
            scores[valid] = torch.stack([chosen(x) for x in shifts]).mean(0).numpy()
        print(f"fold {fold + 1}: stopped after {trainer.current_epoch} epochs, {trainer.global_step} steps, auc {best.best_model_score:.3f}")
print(f"over all folds auc {roc_auc_score(answers, scores):.3f}, {len(label)} beats, {label.mean():.2f} abnormal")
