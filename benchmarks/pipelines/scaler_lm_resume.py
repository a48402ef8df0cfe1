"""A GRU language model with a GradScaler that is stopped and resumed, and generates at the end."""

import code
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

from options import options

CONTEXT = 24


class CharGRU(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(128, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(width, 128)

    def forward(self, ids, state=None):
        h, state = self.gru(self.embed(ids), state)
        return self.head(self.drop(h)), state

    @torch.no_grad()
    def generate(self, prompt, max_new_tokens):
        out, (logits, state) = [], self(prompt)
        for _ in range(max_new_tokens):
            token = torch.multinomial(logits[:, -1].float().softmax(dim=-1), 1)
            out.append(token)
            logits, state = self(token, state)
        return torch.cat(out, dim=1)


class Run:
    def __init__(self, args, path):
        self.path, self.step = path, 0
        self.model = CharGRU(args.width)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=args.steps)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
        if os.path.exists(path):
            state = torch.load(path)
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.scheduler.load_state_dict(state["scheduler"])
            self.scaler.load_state_dict(state["scaler"])
            torch.set_rng_state(state["rng"])
            self.step = state["step"]

    def save(self):
        parts = {n: getattr(self, n).state_dict() for n in ("model", "optimizer", "scheduler", "scaler")}
        torch.save({**parts, "rng": torch.get_rng_state(), "step": self.step}, self.path)

    def train(self, data, until):
        self.model.train()
        while self.step < until:
            at = torch.randint(len(data) - CONTEXT - 1, (20,)).tolist()
            chunk = torch.stack([data[i : i + CONTEXT + 1] for i in at])
            self.optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits, _ = self.model(chunk[:, :-1])
                loss = F.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.scheduler.step()
            self.step += 1
        print(f"step {self.step}: loss {loss.item():.3f}")


def main():
    args = options(lr=1e-2, width=48, steps=40)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    with open(code.__file__) as f:
        data = torch.tensor([min(ord(c), 127) for c in f.read()])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.pt")
        first = Run(args, path)
        first.train(data, args.steps // 2)
        first.save()
        second = Run(args, path)
        second.train(data, args.steps)
    second.model.eval()
    print(tuple(second.model.generate(data[None, :8], max_new_tokens=12).shape))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
