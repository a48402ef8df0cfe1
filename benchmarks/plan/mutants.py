# SPDX-License-Identifier: Apache-2.0
"""Mutants of captured plans: a collective dropped, doubled, averaged, given to other ranks; shards swapped; a number
changed."""
import copy
import json
import pathlib

FACTORS = ("alpha", "other", "value", "scale", "lr")
ARGUMENTS = ("eps", "beta", "exponent", "momentum", "weight_decay", "beta1", "beta2", "alpha", "scale", "lr", "value", "other",
             "threshold", "negative_slope", "max")


class Job:
    """The plans of all ranks, as lists of lines."""

    def __init__(self, folder):
        self.ranks = [[json.loads(line) for line in path.open()] for path in sorted(pathlib.Path(folder).glob("plan-*.jsonl"))]

    def operators(self, is_wanted):
        """[{rank: number of the line}] of each operator that is wanted: on all ranks where they run one program, else on one."""
        lines = [[i for i, line in enumerate(rank) if "op" in line and is_wanted(line)] for rank in self.ranks]
        if len({len(found) for found in lines}) == 1:
            return [dict(enumerate(at)) for at in zip(*lines)]
        return [{rank: i} for rank, found in enumerate(lines) for i in found]

    def changed(self, at, change, ranks=None):
        """A copy whose operator is `change`d: (lines, number, head) -> None."""
        made = [list(rank) for rank in self.ranks]
        for rank, i in at.items():
            if ranks is None or rank in ranks:
                made[rank][i] = copy.deepcopy(made[rank][i])
                change(made[rank], i, made[rank][0])
        return made

    def place(self, at):
        rank = min(at)
        line = self.ranks[rank][at[rank]]
        return f"{line['op']} {line['src'][0].split(', in')[0]}"


def group_of(line):
    """(key, ranks) of the group among the arguments."""
    return next(((k, v[1]) for k, v in line["a"].items() if isinstance(v, list) and v and v[0] == "pg"), (None, None))


def is_collective(line):
    return line["op"].startswith(("c10d.", "_c10d_functional.")) and group_of(line)[0] is not None


def is_sum(line):
    return is_collective(line) and "sum" in (line["a"].get("reduce_op"), line["a"].get("reduceOp"), line["a"].get("op"))


def factor_key(line):
    if not line["op"].startswith(("aten.mul", "aten.div", "aten.add", "aten.sub", "aten._foreach_mul", "aten._foreach_add")):
        return None
    return next((k for k in FACTORS if isinstance(line["a"].get(k), (int, float)) and line["a"][k]
                 and not isinstance(line["a"][k], bool)), None)


def argument_key(line):
    """A number among the arguments of an operator that is none of factor_key()."""
    if factor_key(line) or not line["op"].startswith("aten.") or line["op"].startswith(("aten.zeros", "aten.full", "aten.fill")):
        return None
    return next((k for k in ARGUMENTS if isinstance(line["a"].get(k), (int, float)) and line["a"][k]
                 and not isinstance(line["a"][k], bool)), None)


def has_parts(line):
    return line["op"].startswith(("c10d.allgather_.", "aten.cat.", "aten.stack.")) and parts_of(line) is not None


def parts_of(line):
    """The list of shards that is gathered into, or put together; all of one size."""
    a = line["a"]
    parts = a["output_tensors"][0] if "output_tensors" in a else a.get("tensors")
    return parts if parts and len(parts) > 1 and len({str(part[3]) for part in parts}) == 1 else None


def average(lines, i, head):
    arguments = lines[i]["a"]
    arguments[next(k for k in ("reduce_op", "reduceOp", "op") if arguments.get(k) == "sum")] = "avg"


def other_group(lines, i, head):
    key, ranks = group_of(lines[i])
    others = [axis["ranks"] for axis in head["mesh"] if len(axis["ranks"]) == len(ranks) and axis["ranks"] != ranks]
    if others:
        lines[i]["a"][key] = ["pg", others[0]]


def smaller_group(lines, i, head):
    """The half of the group that the rank is in."""
    key, ranks = group_of(lines[i])
    half = len(ranks) // 2
    if half > 1:
        mine = ranks[:half] if head["rank"] in ranks[:half] else ranks[half:2 * half]
        lines[i]["a"][key] = ["pg", mine]


def double_argument(lines, i, head):
    lines[i]["a"][argument_key(lines[i])] *= 2


def reverse_parts(lines, i, head):
    parts_of(lines[i]).reverse()


def double_factor(lines, i, head):
    lines[i]["a"][factor_key(lines[i])] *= 2


# kind: which operators, what is done, on which ranks
KINDS = {
    "dropped": (is_collective, lambda lines, i, head: lines.__delitem__(i), None),
    "dropped on one": (is_collective, lambda lines, i, head: lines.__delitem__(i), (0,)),
    "doubled": (is_collective, lambda lines, i, head: lines.insert(i, lines[i]), None),
    "average": (is_sum, average, None),
    "other group": (is_collective, other_group, None),
    "smaller group": (is_sum, smaller_group, None),
    "parts reversed": (has_parts, reverse_parts, None),
    "factor": (factor_key, double_factor, None),
    "factor on one": (factor_key, double_factor, (0,)),
    "argument": (argument_key, double_argument, None),
}


def spread(items, most):
    """At most so many of a list, from all of it."""
    return items if len(items) <= most else [items[i * len(items) // most] for i in range(most)]


def mutants(job, most):
    """(kind, place, lines of each rank); those that change nothing are left out."""
    for kind, (is_wanted, change, ranks) in KINDS.items():
        for at in spread(job.operators(is_wanted), most):
            made = job.changed(at, change, ranks)
            if made != job.ranks:
                yield kind, job.place(at), made


def write(ranks, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("plan-*"):
        path.unlink()
    for rank, lines in enumerate(ranks):
        (folder / f"plan-rank{rank:05d}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
