"""A BERT of two layers learns the hidden states of one with four: each of its layers those after every second one."""

import argparse
import os

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from torch import nn
from transformers import BertConfig, BertModel

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
WORDS, LENGTH, WIDTH, EVERY = 16, 8, 32, 2


def bert(layers):
    return BertModel(BertConfig(vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=layers, num_attention_heads=4,
                                intermediate_size=64, max_position_embeddings=LENGTH, hidden_dropout_prob=0.0,
                                attention_probs_dropout_prob=0.0), add_pooling_layer=False)


class Distiller(nn.Module):
    def __init__(self, teacher, student):
        super().__init__()
        self.teacher = teacher.requires_grad_(False)
        self.student = student
        self.adapt = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(student.config.num_hidden_layers))

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, ids, mask):
        with torch.no_grad():
            taught = self.teacher(ids, attention_mask=mask, output_hidden_states=True).hidden_states
        learned = self.student(ids, attention_mask=mask, output_hidden_states=True).hidden_states
        loss = 0
        for layer, adapt in enumerate(self.adapt, start=1):
            target = taught[layer * EVERY]
            loss = loss + nn.functional.mse_loss(adapt(learned[layer])[mask.bool()], target[mask.bool()])
        return loss / len(self.adapt)


def batch(size):
    ids = torch.randint(1, WORDS, (size, LENGTH))
    mask = (torch.arange(LENGTH) < torch.randint(4, LENGTH + 1, (size, 1))).long()
    return ids * mask, mask


def last_error(distiller, ids, mask):
    """How far the student's last state is from the teacher's last one."""
    with torch.no_grad():
        taught = distiller.teacher(ids, attention_mask=mask).last_hidden_state
        learned = distiller.adapt[-1](distiller.student(ids, attention_mask=mask).last_hidden_state)
    return (taught - learned)[mask.bool()].square().mean().item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    distiller = Distiller(bert(4), bert(2)).train()
    with torch.no_grad():
        for p in distiller.teacher.encoder.parameters():
            p.mul_(4 if p.ndim > 1 else 1)
    optimizer = torch.optim.AdamW([p for p in distiller.parameters() if p.requires_grad], lr=args.lr)
    for step in range(1, args.steps + 1):
        loss = distiller(*batch(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    print(f"EVIDENCE loss {loss.item():.4f}, distance from the teacher's last state {last_error(distiller, *batch(64)):.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
