# SPDX-License-Identifier: Apache-2.0
"""Stands for a library of other people: how they set up training."""

import torch


def make_optimizer(model, lr, weight_decay=0.0):
    return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
