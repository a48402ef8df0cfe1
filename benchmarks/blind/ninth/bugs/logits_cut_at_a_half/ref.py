"""Several labels for each picture; the best epoch by F1 is kept."""

import argparse
import copy
from dataclasses import dataclass

import torch
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score, recall_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


@dataclass
class Config:
    seed: int
    lr: float
    steps: int
    labels: int = 8
    batch_size: int = 32
    width: int = 48


def loaders(config):
    x, y = make_multilabel_classification(
        n_samples=1400, n_features=24, n_classes=config.labels, n_labels=2, random_state=config.seed)
    x = torch.tensor(x, dtype=torch.float32)
    x = (x - x[:1000].mean(0)) / (x[:1000].std(0) + 1e-6)
    dataset = TensorDataset(x, torch.tensor(y, dtype=torch.float32))
    train, valid = random_split(dataset, [1000, 400], generator=torch.Generator().manual_seed(config.seed))
    return DataLoader(train, config.batch_size, shuffle=True, drop_last=True), DataLoader(valid, 100)


@torch.inference_mode()
def evaluate(model, loader):
    model.eval()
    answers, truth = [], []
    for x, y in loader:
        logits = model(x)
        answers.append((logits.sigmoid() > 0.5).int())
        truth.append(y.int())
    model.train()
    answers, truth = torch.cat(answers).numpy(), torch.cat(truth).numpy()
    return f1_score(truth, answers, average="micro"), recall_score(truth, answers, average="micro")


def train(config):
    torch.manual_seed(config.seed)
    train_loader, valid_loader = loaders(config)
    model = nn.Sequential(nn.Linear(24, config.width), nn.GELU(), nn.Dropout(0.1), nn.Linear(config.width, config.labels))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    best, best_state, step, epoch = -1.0, None, 0, 0
    while step < config.steps:
        for x, y in train_loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
            if step == config.steps:
                break
        epoch += 1
        f1, recall = evaluate(model, valid_loader)
        print(f"epoch {epoch}: loss {loss.item():.4f}, f1 {f1:.4f}, recall {recall:.4f}")
        if f1 > best:
            best, best_state = f1, copy.deepcopy(model.state_dict())
    model.load_state_dict(best_state)
    return evaluate(model, valid_loader)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=310)
    torch.set_num_threads(1)
    f1, recall = train(Config(**vars(parser.parse_args())))
    print(f"EVIDENCE f1 {f1:.4f}, recall {recall:.4f}")

# SPDX-License-Identifier: Apache-2.0
