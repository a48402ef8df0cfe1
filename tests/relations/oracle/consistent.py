# SPDX-License-Identifier: Apache-2.0
"""Consistent: examples and claims."""
import collections
import re

from .replay import situation_of_variable
from .terms import BROKE, HELD, UNDECIDED, Claim, text


def peer(p, what, _):
    if what == "window" and p.has_step:
        groups = collections.defaultdict(set)
        for v in p.variables.values():
            if "float" in v["dtype"]:
                groups[v["root"], v["kind"]].add(v["dtype"])
        for (_, kind), dtypes in groups.items():
            yield kind, {}, frozenset([("dtype", len(dtypes) == 1)])


def steady(p, what, x):
    """As the steps of a window left a variable, and those of the window before, but where a training begins."""
    state, optimizers = (p.state["steady"], p.state["optimizers"]) if p else (None, None)
    if what == "call" and x["role"] == "step" and not x["raised"]:
        optimizers.setdefault(x["self"]["id"], []).append(p.window_number)
        for v in p.variables.values():
            state.setdefault(v["serial"], {})["now"] = {k: v[k] for k in ("data", "dtype", "shape", "requires_grad")}
    if what != "window" or not p.has_step:
        return
    goes_on = any(min(when) < p.window_number == max(when) for when in optimizers.values())
    for v in p.variables.values():
        moment = state.get(v["serial"], {})
        before, now = moment.get("before"), moment.pop("now", None)
        if not now:
            continue
        moment["before"] = now
        if before and goes_on:
            is_frozen = v["kind"] == "Parameter" and not before["requires_grad"] and not now["requires_grad"]
            attrs = ("dtype", "shape") + (("data",) if is_frozen else ())
            yield v["kind"], situation_of_variable(v), frozenset((a, before[a] == now[a]) for a in attrs)


# ---- replica: all ranks have reported the step


def replica(p, what, x):
    """Each rank reports at the end of a step; the steps are judged when all has been read."""
    if what == "call" and x["role"] == "uneven":
        p.state["uneven"]["is"] = True
    if what == "window" and p.has_step and p.world > 1:
        reports = reports_of(p.shared)[x["step"]]
        if p.state["uneven"]:
            reports[p.head["rank"]] = p.world, {}, {}
            return
        owned = [v for v in p.variables.values() if "root" in v] or p.variables.values()
        reports[p.head["rank"]] = p.world, {v["name"]: dict(v) for v in owned}, \
            {g["name"]: dict(g, used=dict(g["used"])) for g in p.settings.values()}
    if what == "finish":
        whole = [r for _, r in sorted(reports_of(x).items()) if len(r) == max(world for world, _, _ in r.values())]
        for reports, has_met in zip(whole, meets_again(whole)):
            variables, groups = zip(*(reports[rank][1:] for rank in sorted(reports)))
            replicas = replicas_on_all(variables)
            own = own_parts(replicas)
            yield from (of_replicas(v, has_met, v[0]["name"] in own) for v in replicas)
            yield from of_parts(v for rank in variables for v in rank.values())
            yield from (of_groups(g) for g in on_all(groups))


def reports_of(shared):
    return shared.setdefault("reports", collections.defaultdict(dict))


def on_all(ranks):
    """What every rank has, by name: a list of it, lowest rank first."""
    return [[rank[name] for rank in ranks] for name in ranks[0] if all(name in rank for rank in ranks)]


def replicas_on_all(ranks):
    """But of a model with a parameter that began in other shapes."""
    shared = on_all(ranks)
    stages = {v[0]["root"] for v in shared if v[0]["kind"] == "Parameter" and "root" in v[0]
              and not any(w.get("sharded") for w in v) and not is_equal(v, "first_shape")}
    return [v for v in shared if v[0].get("root") not in stages]


def is_equal(replicas, attr):
    return all(v[attr] == replicas[0][attr] for v in replicas)


def trains(replicas):
    first = replicas[0]
    return first["kind"] == "Parameter" and first["requires_grad"] and not any(v.get("sharded") for v in replicas)


def own_parts(shared):
    """
    The names of what began with other content on each rank and has it, where other weights of the ranks began alike; and
    in a module that has such, of what differs and began as another variable did, which is a constant.
    """
    trained = [v for v in shared if trains(v)]
    some_began_alike = any(is_equal(v, "first") for v in trained)
    differs = [v for v in trained if not is_equal(v, "data")]
    own = {v[0]["name"] for v in differs if some_began_alike and not is_equal(v, "first")}
    modules = {name.rpartition(".")[0] for name in own}
    first = collections.Counter(v[0]["first"] for v in shared)
    return own | {v[0]["name"] for v in differs if is_equal(v, "first") and first[v[0]["first"]] > 1
                  and v[0]["name"].rpartition(".")[0] in modules}


def meets_again(steps):
    """For each step: do the ranks differ in most of what trains, and in none of it at the end of at most 64 steps from the first
    of these on?"""
    met, run, has_parted, have_met, longest = [False] * len(steps), [], False, False, 0
    for i, reports in enumerate(steps):
        shared = replicas_on_all([reports[rank][1] for rank in sorted(reports)])
        trained = [v for v in shared if trains(v) and v[0]["name"] not in own_parts(shared)]
        differ = sum(not is_equal(v, "data") for v in trained)
        if trained and (2 * differ >= len(trained) or run) and differ and not has_parted and len(run) < 64:
            run.append(i)
        elif trained:
            have_met |= not differ
            longest = max(longest, 0 if differ else len(run))
            for k in run:
                met[k] = not differ
            run, has_parted = [], bool(differ)
    for k in run:  # the end of the run: no longer apart than before
        met[k] = have_met and len(run) <= longest + 1
    return met


def of_replicas(replicas, has_met, is_own):
    first = replicas[0]
    is_comparable = first["kind"] != "buffer" and not any(v.get("sharded") for v in replicas) and not is_own \
        and not (has_met and trains(replicas))
    attrs = ("dtype", "shape") + (("data",) if is_comparable else ())
    return first["kind"], situation_of_variable(first), frozenset((a, is_equal(replicas, a)) for a in attrs)


def of_parts(variables):
    """Of a sharded variable those of the ranks that hold the same part, lowest rank first."""
    held = collections.defaultdict(list)
    for v in variables:
        if v.get("sharded") and "part" in v:
            held[v["name"], text(v["part"])].append(v)
    for first, *others in (replicas for replicas in held.values() if len(replicas) > 1):
        attrs = [] if first["kind"] == "buffer" else [("data", is_equal([first, *others], "data"))]
        yield first["kind"], situation_of_variable(first), frozenset(attrs)


def of_groups(groups):
    is_comparable = all(g["used"] for g in groups)
    return groups[0]["kind"], {}, frozenset([("settings", is_equal(groups, "used"))] if is_comparable else ())


# ---- alias: two that started as copies


ZEROS = "ed37f9a03dc2c812"  # of 16 numbers of float32 in the shape [4, 4], which all variables of the tests have


def find_aliases(p):
    by_content = collections.defaultdict(list)
    for v in p.variables.values():
        if v["kind"] == "Parameter" and len(v["shape"]) >= 2:
            by_content[v["first"]].append(v)
    return [twins for first, twins in by_content.items() if len(twins) == 2 and first != ZEROS]


def is_trained(v):
    return v["requires_grad"] and (v["grad_cause"] >= 0 or v["grad"] != "null")


def alias(p, what, _):
    if what != "window" or not p.has_step:
        return
    if "pairs" not in p.state["alias"]:
        p.state["alias"]["pairs"] = find_aliases(p)
    for a, b in p.state["alias"]["pairs"]:
        if not is_trained(a) or not is_trained(b) or (a["data"], b["data"]) == (a["first"], b["first"]):
            continue
        last, template = ([f(v["name"]) for v in (a, b)] for f in (lambda name: name.rpartition(".")[2],
                                                                  lambda name: re.sub("[0-9]+", "0", name)))
        same = {"name": last[0] == last[1], "owner": a["owner"] == b["owner"], "root": a["root"] == b["root"]}
        if template[0] != template[1]:
            yield "Parameter", {**{f"v.same_{k}": text(x) for k, x in same.items()}, **a["framework"], **b["framework"]}, \
                frozenset([("data", a["data"] == b["data"])])


def equal_claims(key, outcomes, pipelines=2):
    for attr in {a for o in outcomes for a, equal in o if equal}:
        yield Claim([{"variable": key, "attr": attr, "to": "equal"}], lambda o, attr=attr:
                    HELD if (attr, True) in o else BROKE if (attr, False) in o else UNDECIDED, pipelines)


def peer_claims(key, outcomes):
    return equal_claims(key, outcomes, 7)
