"""Two players take one to three sticks in turn, who takes the last one loses. PPO in self-play against a league of old selves."""
import argparse
import copy
import random

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F

MOST = 21


class Player(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(MOST + 1, 24)
        self.body = nn.Sequential(nn.Linear(24, 48), nn.Tanh())
        self.policy, self.value = nn.Linear(48, 3), nn.Linear(48, 1)

    def forward(self, sticks):
        h = self.body(self.table(sticks))
        logits = self.policy(h)
        illegal = torch.arange(1, 4)[None] > sticks[:, None]
        return logits.masked_fill(illegal, -1e9), self.value(h).squeeze(1)


@torch.no_grad()
def play(learner, other, games):
    """All games at once; yields the learner's moves. Learner begins in about half of them."""
    sticks = torch.randint(4, MOST + 1, (games,))
    mine = torch.rand(games) < 0.5
    result = torch.zeros(games)
    log = []
    alive = sticks > 0
    while alive.any():
        for player, turn in ((learner, mine), (other, ~mine)):
            who = torch.nonzero(alive & turn & (sticks > 0)).flatten()
            if len(who) == 0:
                continue
            logits, value = player(sticks[who])
            choice = Categorical(logits=logits)
            action = choice.sample()
            if player is learner:
                log.append((who, sticks[who].clone(), action, choice.log_prob(action), value))
            sticks[who] -= action + 1
            ended = who[sticks[who] == 0]
            result[ended] = -1.0 if player is learner else 1.0
            # a player who has moved hands over
            mine[who] = ~mine[who]
            alive[ended] = False
    return log, result


def transitions(log, result, gamma=0.99, lam=0.9):
    """Advantages by going back through each game; games have their own number of moves."""
    games = len(result)
    next_value, next_adv, last = torch.zeros(games), torch.zeros(games), torch.ones(games, dtype=torch.bool)
    rows = []
    for who, sticks, action, logp, value in reversed(log):
        reward = torch.where(last[who], result[who], torch.zeros(len(who)))
        delta = reward + gamma * next_value[who] - value
        adv = delta + gamma * lam * next_adv[who]
        next_value[who], next_adv[who], last[who] = value, adv, False
        rows.append((sticks, action, logp, adv, adv + value))
    return [torch.cat(part) for part in zip(*rows)]


class League:
    def __init__(self, first):
        self.members = [copy.deepcopy(first).requires_grad_(False)]
        self.wins = [0.5]

    def choose(self, learner):
        if random.random() < 0.25:
            return None, learner_copy(learner)
        weights = [(1.05 - w) ** 2 for w in self.wins]
        k = random.choices(range(len(self.members)), weights)[0]
        return k, self.members[k]

    def report(self, k, score):
        self.wins[k] = 0.8 * self.wins[k] + 0.2 * score

    def maybe_join(self, learner):
        if min(self.wins) > 0.52:
            self.members.append(learner_copy(learner))
            self.wins.append(0.5)
            if len(self.members) > 6:  # the easiest one leaves
                k = max(range(len(self.wins)), key=self.wins.__getitem__)
                del self.members[k], self.wins[k]
            return True
        return False


def learner_copy(learner):
    return copy.deepcopy(learner).requires_grad_(False)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=115, help="rounds of play")
    a = ap.parse_args()
    torch.manual_seed(a.seed)
    random.seed(a.seed)
    torch.set_num_threads(1)
    learner = Player()
    optimizer = torch.optim.Adam(learner.parameters(), lr=a.lr, eps=1e-5)
    league, joined, updates = League(learner), 0, 0
    for rnd in range(a.steps):
        left = 1 - rnd / a.steps
        for group in optimizer.param_groups:
            group["lr"] = a.lr * max(left, 0.1)
        k, other = league.choose(learner)
        log, result = play(learner, other, random.choice([96, 128, 160]))
        if k is not None:
            league.report(k, (result > 0).float().mean().item())
        sticks, action, old_logp, adv, ret = transitions(log, result)
        for epoch in range(6):
            stop = False
            for rows in torch.randperm(len(sticks)).split(128):
                if len(rows) < 32:
                    continue
                logits, value = learner(sticks[rows])
                choice = Categorical(logits=logits)
                ratio = (choice.log_prob(action[rows]) - old_logp[rows]).exp()
                with torch.no_grad():
                    kl = (ratio - 1 - ratio.log()).mean().item()
                if kl > 0.03:
                    stop = True
                    break
                g = adv[rows]
                g = (g - g.mean()) / (g.std() + 1e-6)
                policy_loss = -torch.min(ratio * g, ratio.clamp(0.8, 1.2) * g).mean()
                value_loss = F.smooth_l1_loss(value, ret[rows])
                loss = policy_loss + 0.5 * value_loss - 0.02 * left * choice.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(learner.parameters(), 0.5)
                optimizer.step()
                updates += 1
            if stop:
                break
        joined += rnd % 5 == 4 and league.maybe_join(learner)
        if rnd % 20 == 0:
            print(f"round {rnd:3d} epochs {epoch + 1} won {(result > 0).float().mean().item():.2f} value {value_loss.item():.3f} league {len(league.members)}")
    with torch.no_grad():
        sticks = torch.arange(2, MOST + 1)
        best = (sticks - 1) % 4
        move = learner(sticks)[0].argmax(1) + 1
        known = best > 0
        good = (move == best)[known].float().mean().item()
    print(f"EVIDENCE {updates} updates, {joined} joined, right moves {good:.3f}")


if __name__ == "__main__":
    main()
