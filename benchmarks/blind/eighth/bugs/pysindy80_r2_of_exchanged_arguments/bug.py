"""Progression of diabetes: a small network with dropout; the step with the best r2 on validation data is kept."""

import argparse
import copy

import torch
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Patients(Dataset):
    def __init__(self, x, y):
        self.x, self.y = torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y, dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


def regression_report(y_true, y_pred):
    return {"mae": mean_absolute_error(y_true, y_pred), "r2": r2_score(y_true, y_pred)}


def validate(model, loader):
    model.eval()
    answers, truth = [], []
    with torch.no_grad():
        for x, y in loader:
            answers.append(model(x).squeeze(1))
            truth.append(y)
    model.train()
    preds, targets = torch.cat(answers).numpy(), torch.cat(truth).numpy()
    return regression_report(preds, targets)


def main(seed, lr, steps):
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    x, y = load_diabetes(return_X_y=True)
    x_train, x_valid, y_train, y_valid = train_test_split(x, y, test_size=0.3, random_state=seed)
    inputs = StandardScaler().fit(x_train)
    mean, deviation = y_train.mean(), y_train.std()
    train = DataLoader(Patients(inputs.transform(x_train), (y_train - mean) / deviation), batch_size=32, shuffle=True)
    valid = DataLoader(Patients(inputs.transform(x_valid), (y_valid - mean) / deviation), batch_size=64)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=1e-3)
    best, best_weights, step = -float("inf"), None, 0
    while step < steps:
        for features, target in train:
            loss = nn.functional.mse_loss(model(features).squeeze(1), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        report = validate(model, valid)
        if report["r2"] > best:
            best, best_weights = report["r2"], copy.deepcopy(model.state_dict())
        print(f"step {step}: loss {loss.item():.4f}, mae {report['mae']:.3f}, r2 {report['r2']:.3f}")
    model.load_state_dict(best_weights)
    print(f"EVIDENCE r2 {validate(model, valid)['r2']:.4f} on validation data, best {best:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 2e-3), ("--steps", int, 400)):
        parser.add_argument(name, type=kind, default=default)
    main(**vars(parser.parse_args()))

# SPDX-License-Identifier: Apache-2.0
