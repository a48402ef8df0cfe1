"""Chat tuning of a museum guide: only what the guide says is trained, over all of its turns."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

USER, GUIDE, TURN_END = 0, 1, 2
BASE = 3
WORDS = 16
VOCAB = BASE + WORDS
TURNS = 3


class GuideLM(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 48)
        self.lstm = nn.LSTM(48, hidden, batch_first=True)
        self.lm_head = nn.Linear(hidden, VOCAB)

    def forward(self, ids, state=None):
        out, state = self.lstm(self.embed(ids), state)
        return self.lm_head(out), state


def answer_to(question):
    """The guide counts on from the last word of the question, as many words as the first says."""
    count = 1 + question[0] % 4
    return [(question[-1] + 1 + i) % WORDS for i in range(count)]


def render(dialog):
    """Chat template: returns the ids and the mask of the tokens that the guide wrote."""
    ids, mask = [], []
    for role, words in dialog:
        ids.append(role)
        mask.append(0)
        body = [BASE + w for w in words]
        ids += body + [TURN_END]
        spoken = 1 if role == GUIDE else 0
        mask += [spoken] * len(body)
        mask.append(spoken)
    return ids, mask


def make_dialog(gen):
    dialog = []
    for _ in range(TURNS):
        n = torch.randint(2, 4, (1,), generator=gen).item()
        question = torch.randint(WORDS, (n,), generator=gen).tolist()
        dialog += [(USER, question), (GUIDE, answer_to(question))]
    return dialog


def batchify(dialogs):
    rendered = [render(d) for d in dialogs]
    width = max(len(ids) for ids, _ in rendered)
    ids = torch.zeros(len(dialogs), width, dtype=torch.long)
    labels = torch.full((len(dialogs), width), -100)
    for i, (row, mask) in enumerate(rendered):
        ids[i, : len(row)] = torch.tensor(row)
        labels[i, : len(row)] = torch.where(torch.tensor(mask).bool(), torch.tensor(row), -100)
    return ids, labels


@torch.no_grad()
def reply(model, question, limit=10):
    prompt = [USER] + [BASE + w for w in question] + [TURN_END, GUIDE]
    logits, state = model(torch.tensor([prompt]))
    said = []
    while len(said) < limit:
        token = logits[0, -1].argmax().item()
        if token == TURN_END:
            return said, True
        said.append(token - BASE)
        logits, state = model(torch.tensor([[token]]), state)
    return said, False


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=260)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = GuideLM()
    optim = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids, labels = batchify([make_dialog(gen) for _ in range(32)])
        logits, _ = model(ids[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), labels[:, 1:])
        optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optim.step()
        if step % 50 == 0:
            print(f"{step:4d} loss {loss.item():.4f}")
    finished = right = 0
    for _ in range(80):
        question = torch.randint(WORDS, (2,), generator=gen).tolist()
        said, ended = reply(model, question)
        finished += ended
        right += said == answer_to(question)
    print(f"EVIDENCE turns_ended={finished / 80:.3f} replies_right={right / 80:.3f}")


if __name__ == "__main__":
    main()
