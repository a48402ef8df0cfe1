"""A two-way GRU gives each word of a made-up sentence a tag. Sentences differ in length."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

WORDS, TAGS, SENTENCES, BATCH = 40, 5, 160, 16
NO_TAG = -100


def make_sentences():
    g = torch.Generator().manual_seed(77)
    sentences = []
    for _ in range(SENTENCES):
        n = int(torch.randint(2, 19, (1,), generator=g))
        words = torch.randint(1, WORDS, (n,), generator=g)
        before = torch.cat([torch.zeros(1, dtype=torch.long), words[:-1]])
        sentences.append((words, (words + 2 * before) % TAGS))
    return sentences


def collate(rows):
    words = pad_sequence([w for w, _ in rows], batch_first=True)
    tags = pad_sequence([t for _, t in rows], batch_first=True, padding_value=NO_TAG)
    lengths = torch.tensor([len(w) for w, _ in rows])
    return words, tags, lengths


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 16, padding_idx=0)
        self.gru = nn.GRU(16, 20, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(40, TAGS)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embed(words), lengths, batch_first=True,
                                      enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.tag(hidden)


def row_batches(seed):
    g = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(SENTENCES, generator=g).tolist()
        for i in range(0, SENTENCES, BATCH):
            yield order[i:i + BATCH]


def main(rank, ranks, port, seed, steps):
    torch.set_num_threads(1)
    if ranks > 1:
        os.environ["MASTER_ADDR"] = "127.0.0.1"
        os.environ["MASTER_PORT"] = str(port)
        os.environ["RANK"] = str(rank)
        os.environ["WORLD_SIZE"] = str(ranks)
        dist.init_process_group("gloo")

    torch.manual_seed(seed)
    sentences = make_sentences()
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.8, momentum=0.9)
    criterion = nn.CrossEntropyLoss(ignore_index=NO_TAG, reduction="sum")
    batches = row_batches(seed)
    each = BATCH // ranks

    for step in range(steps):
        mine = next(batches)[rank * each:(rank + 1) * each]
        words, tags, lengths = collate([sentences[i] for i in mine])

        # How many words the whole batch holds, over all ranks.
        total = lengths.sum().float()
        if ranks > 1:
            dist.all_reduce(total)

        logits = model(words, lengths)
        loss = criterion(logits.transpose(1, 2), tags) * ranks / total
        optimizer.zero_grad()
        loss.backward()
        if ranks > 1:
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p.grad.div_(ranks)
        nn.utils.clip_grad_norm_(model.parameters(), 0.15)
        optimizer.step()

        shown = loss.detach().clone()
        if ranks > 1:
            dist.all_reduce(shown)
            shown /= ranks
        if rank == 0:
            print(f"step {step} loss {shown.item():.8f}")

    if rank == 0:
        square = sum(p.detach().double().pow(2).sum() for p in model.parameters())
        print(f"weights norm {square.sqrt().item():.8f}")
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1, choices=(1, 2))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=22)
    a = parser.parse_args()
    if a.ranks == 1:
        main(0, 1, 0, a.seed, a.steps)
    else:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        mp.spawn(main, args=(a.ranks, port, a.seed, a.steps), nprocs=a.ranks)
