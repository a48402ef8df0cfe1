"""SFT that is preempted at the end of an epoch and resumed from its checkpoint, data position included."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ, BATCH = 24, 12, 16


class StatefulLoader:
    """Shuffles per epoch; remembers how many batches of the epoch were given out."""

    def __init__(self, data, batch_size, seed):
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.batches_yielded, self.resume_from, self.epoch = 0, 0, 0

    def __len__(self):
        return len(self.data) // self.batch_size

    def set_epoch(self, epoch):
        self.epoch = epoch

    def state_dict(self):
        return {"batches_yielded": self.batches_yielded}

    def load_state_dict(self, state):
        self.resume_from = state["batches_yielded"]

    def __iter__(self):
        order = torch.randperm(len(self.data), generator=torch.Generator().manual_seed(self.seed + self.epoch))
        first, self.resume_from = self.resume_from, 0
        for i in range(first, len(self)):
            self.batches_yielded = i + 1
            yield self.data[order[i * self.batch_size:(i + 1) * self.batch_size]]


class LanguageModel(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def make_data(size, seed):
    gen = torch.Generator().manual_seed(seed)
    start = torch.randint(0, VOCAB, (size, 1), generator=gen)
    stride = torch.randint(1, 6, (size, 1), generator=gen)
    return (start + stride * torch.arange(SEQ)) % VOCAB


def lm_loss(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


class Trainer:
    def __init__(self, args, folder):
        torch.manual_seed(args.seed)
        self.args, self.path = args, os.path.join(folder, "last.pt")
        self.model = LanguageModel()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.train_dataloader = StatefulLoader(make_data(args.rows, args.seed), BATCH, args.seed)
        self.global_steps, self.updates = 0, 0

    def save_checkpoint(self):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "step": self.global_steps, "data": self.train_dataloader.state_dict()}, self.path)

    def load_checkpoint(self):
        state = torch.load(self.path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.global_steps = state["step"]
        # at the end of an epoch the saved position is that of a finished pass
        if self.global_steps % len(self.train_dataloader) != 0:
            self.train_dataloader.load_state_dict(state["data"])

    def fit(self, stop_at=None):
        loss = None
        for epoch in range(self.global_steps // len(self.train_dataloader), self.args.epochs):
            self.train_dataloader.set_epoch(epoch)
            for ids in self.train_dataloader:
                loss = lm_loss(self.model, ids)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.global_steps += 1
                self.updates += 1
                if self.global_steps == stop_at:
                    self.save_checkpoint()
                    return
            print(f"epoch {epoch} done, step {self.global_steps}" + (f" loss {loss.item():.4f}" if loss is not None else ""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--steps", type=int, default=36)
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.epochs = 3
    args.rows = args.steps // args.epochs * BATCH
    with tempfile.TemporaryDirectory() as folder:
        first = Trainer(args, folder)
        first.fit(stop_at=len(first.train_dataloader))
        second = Trainer(args, folder)
        second.load_checkpoint()
        second.fit()
    with torch.no_grad():
        held_out = lm_loss(second.model, make_data(256, 4321)).item()
    print(f"EVIDENCE updates={first.updates + second.updates} held_out_loss={held_out:.4f}")


if __name__ == "__main__":
    main()
