# SPDX-License-Identifier: Apache-2.0
"""APISequence: examples and claims."""
import itertools

from .contain import kind_of
from .replay import is_by_the_user, is_by_torch, is_training_forward
from .terms import BROKE, HELD, MEMBERS, UNDECIDED, Claim, class_of, text, value_class


def role_call(role, fn):
    return {"call": fn, "role": role}


def member_name(call):
    if not call["root"]:
        return call["role"], call["name"]
    mode = "train" if call["self"]["attrs"]["training"] else "eval"
    grad = "no_grad" if "grad" in (call.get("ctx") or {}) else "grad"
    return call["role"], f"root.forward[{mode},{grad}]"


def is_other_forward(call):
    """One of no training."""
    return call["root"] and member_name(call)[1] != "root.forward[train,grad]"


def situation_of_window(p, r):
    return {"stage": text(r["stage"]), "world": text("many" if p.world > 1 else "one"),
            "ctx.autocast": text(p.has_autocast), "self.grads": text(p.grads)}


def modelless(members):
    """Ids of what serves a step whose parameters stand in no model, where a model steps as well with a backward of its own."""
    of_models = [i for i, c in enumerate(members) if c["role"] == "step" and c["has_model"]]
    steps = [i for i, c in enumerate(members) if c["role"] == "step"]
    for i in steps if of_models else ():
        later = next((k for k in of_models if k > i), len(members))
        if i in of_models or (later < len(members) and all(c["role"] != "backward" for c in members[i:later])):
            continue
        before = max((k for k in steps if k < i), default=-1)
        yield from (c["id"] for c in members[before + 1:i + 1] if not c["root"])


def own_members(p, r):
    """A cut at a step: the forward and the backward before it are that step's."""
    after = max((i for i, c in enumerate(p.members) if c["role"] == "step"), default=-1) + 1
    forwards = [i for i, c in enumerate(p.members) if i >= after and c["root"]]
    if r["why"] not in ("zero_grad", "step") or not forwards or all(c["role"] != "backward" for c in p.members[forwards[0]:]):
        return p.members
    return p.members[:forwards[0]]


OPTIONAL = {"backward", "scheduler", "scaler", "unscale", "library"}


def window(p, what, r):
    if what == "call" and r["role"] in OPTIONAL:
        p.state["known"][class_of(r["fn"])] = True
    if what == "call" and r["root"] and not r["raised"] and "grad" not in (r.get("ctx") or {}):
        p.state["asked"]["root.forward"] = True
        buffers = [v for v in p.variables.values() if v["kind"] == "buffer" and v["root"] == r["self"]["id"]]
        if not r["self"]["attrs"]["training"] and buffers and all(kind_of(p, v, r["step"]) == "frozen_buffer" for v in buffers):
            p.state["asked"]["root.forward.frozen_norms"] = True
    asked = p.state.pop("asked", {}) if what == "window" and p.has_step else {}
    of_a_model = what == "window" and p.has_step and any(c["role"] == "step" and c["has_model"] for c in p.members)
    if of_a_model:
        p.state["trains"]["a model"] = True
    if what == "window" and p.has_step and not p.is_pause and (of_a_model or not p.state["trains"]):
        known = tuple(("known", c) for c in [*sorted(p.state["known"]), *sorted(asked)])
        early = itertools.takewhile(lambda c: c["role"] in ("scheduler", "zero_grad", "collective") or is_other_forward(c),
                                    p.members if r["step"] else ())
        late = [c["id"] for c in early if c["role"] == "scheduler"]  # they close the step before
        members = sorted(own_members(p, r), key=lambda c: c["id"] in late)
        aside = set(modelless(p.members))
        yield "step window", situation_of_window(p, r), \
            tuple(member_name(c) for c in members if not c.get("raised") and c["id"] not in aside) + known


RULES = {"zero_grad": ("zero_grad", "backward", "step"), "clip": ("clip", "backward", "unscale"),
         "clip sum": ("clip", "backward", "backward")}


def serves(p, call):
    """Has a zero_grad cleared nothing in vain: gradients for the input, that moved the weights, or that the owner's step used?"""
    in_vain = any(v["grad_cause"] == call["id"] and v["grad_made"] > v["stepped"] for v in p.variables.values())
    return p.state["between"].get("spent") or (bool(p.variables) and not in_vain)


def follow_trial(p, state, call):
    """A gradient that is cleared once before its first step was a trial."""
    cleared = [v for v in p.variables.values() if v["grad_cause"] == call["id"]]
    if call["role"] != "zero_grad" or call["serves"] or not p.variables or any(v["stepped"] >= 0 for v in cleared):
        return
    tried = state.setdefault("tried", {}).setdefault(call["self"]["id"], [])
    tried.append(call)
    for c in tried:
        c["trial"] = len(tried) == 1


def made_anew(loop, at):
    """The backward for the step that follows the call."""
    after = [c for c in loop[at + 1:] if c["role"] in ("backward", "step", "scaler")]
    return after[0] if after and after[0]["role"] == "backward" else None


def line_of(p, call):
    return next((c["at"] for c in p.around(call) if c.get("at")), None)


def was_clipped(loop, at):
    """Was what this call cleared clipped?"""
    before = [c["role"] for c in loop[:at] if c["role"] in ("backward", "clip", "zero_grad", "step", "scaler")]
    return before[-1:] == ["clip"]


def follow_clips(state, call):
    """A clipping is early if the model that ran before it gets another backward before a step or a zero_grad."""
    if call["root"] and "grad" not in (call.get("ctx") or {}):
        state["asked"] = call["self"]["id"]
    elif call["role"] == "backward":
        state["trained"] = state.get("asked")
        clip, root = state.get("clipped") or (None, None)
        if root is not None and root == state["trained"]:
            clip["early"] = True
    elif call["role"] == "clip":
        state["clipped"] = call, state.get("trained")
    elif call["role"] in ("step", "zero_grad", "scaler"):
        state["clipped"] = None


def between(p, what, r):
    state = p.state["between"] if p else None
    if what == "change" and not r["call"] and r["variable"]["kind"] == "Parameter" and r["variable"]["requires_grad"]:
        state["spent"] = True
    if what == "call" and not r["raised"]:
        follow_clips(state, r)
        for around in p.around(r["above"]) if r["role"] == "unscale" else ():
            if around["role"] == "scaler":
                around["unscales"] = True
        if r["root"]:
            state["asks"] = state.get("asks") or any(
                isinstance(a, dict) and a.get("requires_grad") is True for a in (r.get("args") or {}).values())
        elif r["role"] == "backward":
            state["spent"] = state.get("asks", False)
        elif r["role"] in ("step", "zero_grad"):
            r["serves"] = r["role"] == "zero_grad" and serves(p, r)
            follow_trial(p, state, r)
            state["asks"] = False
    if what != "window" or not p.has_step:
        return
    loop = [c for c in p.members if not c.get("raised") and all(a["role"] != "step" for a in p.around(c["above"]))]
    for key, (role, begin, end) in RULES.items():
        last, has_trial, is_between = None, False, key == "clip sum" and any(c.get("early") for c in loop)
        for i, c in enumerate(loop if key != "clip sum" else ()):
            lost = next((line_of(p, b) for b in reversed(loop[:i]) if b["role"] == "backward"), None)
            comes_again = "trial" in state and lost == state["trial"] and not has_trial
            is_asked = c["role"] == role and last == begin and not is_between and (comes_again or not c.get("serves"))
            anew, is_dropped = made_anew(loop, i), state.get("plain") and was_clipped(loop, i)
            is_excused = anew and (is_dropped or c.get("trial") and lost != line_of(p, anew))
            if is_asked and is_excused and not is_dropped:
                has_trial, state["trial"] = True, lost
            is_between |= is_asked and not is_excused
            ends = c["role"] == "scaler" and (end == "step" or (end == "unscale" and c.get("unscales")))
            last = c["role"] if c["role"] in (begin, end) or ends else last
        unscales = {"unscale" for c in loop if c.get("unscales")} if end == "unscale" else set()
        if {role, end} <= {c["role"] for c in loop} | unscales:
            yield key, situation_of_window(p, r), is_between
            state["plain"] = state.get("plain") or key == "zero_grad" and not is_between and not has_trial


def is_of_the_script(call):
    return not call["raised"] and not is_by_torch(call)


def package_of(fn):
    return "known", fn.partition(".")[0]


def run_course(p, what, x):
    """What came before the loop; and, until its first step ends, which packages are in use."""
    before, uses, state = p.state["before"] if p else {}, p.state["uses"] if p else {}, p.state["run"] if p else {}
    if what == "call" and is_of_the_script(x) and "told" not in state:
        if x["role"] in MEMBERS:
            before[package_of(x["fn"])] = True
        if x["role"] == "library" and not is_by_the_user(p, x):
            uses[f"uses.{class_of(x['fn'])}"] = "true"
        if x["root"] or x["role"] in ("backward", "step"):
            state["running"] = True
        elif "running" not in state and x["role"] in MEMBERS - {"zero_grad"}:
            before[x["name"] if is_by_the_user(p, x) else ("done", x["name"])] = True
    if what == "window" and p.has_step and "running" in state and "told" not in state:
        state["told"] = True
        yield "root.forward", {"world": text("many" if p.world > 1 else "one"), **uses}, frozenset(before)


def is_data(p, value):
    """A load gave tensors, by names that are none of the model's: a data set; or numbers alone, which are no state."""
    is_tensor = lambda v: isinstance(v, dict) and ("tensor" in v or "array" in v)  # noqa: E731
    named = value.get("dict") if isinstance(value, dict) else None
    parts = [value] if is_tensor(value) else value if isinstance(value, list) else named.values() if named is not None else None
    if named and not any(isinstance(v, (dict, list)) for v in named.values()):
        return True
    names = [v["name"] for v in p.variables.values()]
    return bool(names) and parts is not None and all(map(is_tensor, parts)) and not any(
        name.endswith("." + key) for key in list(named or ())[:8] for name in names)


def follow(p, what, call):
    """Loads of one section; what the run has saved so far is known by class."""
    if what != "call" or not is_of_the_script(call):
        return
    loads, saved = p.state["loads"], p.state["saved"]
    if call["role"] == "save":
        saved["known", class_of(call["fn"])] = True
    elif call["role"] == "load" and not call["above"] and is_by_the_user(p, call):
        loads[len(loads)] = call
    elif call["root"]:
        section, p.state["loads"] = list(loads.values()), {}
        for i, load in enumerate(section if is_training_forward(call) else ()):
            if is_data(p, load["end"].get("value")):
                continue
            after = itertools.takewhile(lambda name: name != load["name"], (c["name"] for c in section[i + 1:]))
            strict = (load.get("args") or {}).get("strict")
            yield load["name"], {} if strict is None else {"args.strict": value_class(strict)}, frozenset([*after, *saved])


def is_before(outcome, a, b):
    last = len(outcome) - 1
    back = outcome[::-1]
    begin_of_b = last - back.index(b) if (a[0], b[0]) == ("forward", "backward") else outcome.index(b)
    begins = (a[0] == "clip" and b[0] != "scheduler") or outcome.index(a) < begin_of_b
    return begins and (
        a[0] == "forward" or b[0] in ("scheduler", "clip") or last - back.index(a) < last - back.index(b))


def in_order(tokens, given):
    def decide(outcome):
        if any(g and t not in outcome for t, g in zip(tokens, given)):
            return UNDECIDED
        there = [t for t in tokens if t in outcome]
        roles = {t[0] for t in outcome}
        missing = [t for t in tokens if t not in outcome]
        if any(t[0] in OPTIONAL and ("known", class_of(t[1])) not in outcome for t in missing):
            return UNDECIDED
        is_asked = "forward" in roles or ("known", "root.forward") in outcome
        rests = ("known", "root.forward.frozen_norms") in outcome
        needless = [t for t in missing if t[0] == "forward" and (rests or not is_asked)]
        if len(missing) > len(needless) or not all(is_before(outcome, a, b) for a, b in zip(there, there[1:])):
            return BROKE
        return UNDECIDED if needless else HELD
    return decide


def window_claims(_, outcomes):
    def claim(*calls, given=None):
        params = [dict(role_call(*t), **({"given": True} if t == given else {})) for t in calls]
        is_rare = given or any(role == "collective" for role, _ in calls)
        has_rhythm = not given and any(role in ("scheduler", "clip") for role, _ in calls)
        return Claim(params, in_order(calls, [t == given for t in calls]), 20 if has_rhythm else 7 if is_rare else 4)

    members = sorted(t for t in set().union(*map(set, outcomes)) if t[0] not in ("zero_grad", "known"))
    for t in members:
        yield claim(t)
    for a, b in itertools.permutations(members, 2):
        if not any(a in o and b in o and is_before(o, a, b) for o in outcomes):
            continue
        yield claim(a, b)
        for t, other in ((b, a), (a, b)):
            if not all(t in o for o in outcomes) and not any(t in o and other not in o for o in outcomes):
                yield claim(a, b, given=t)


def between_claims(key, outcomes):
    yield Claim([role_call(role, "*") for role in RULES[key]], lambda o: BROKE if o else HELD, 2)


def is_aside(mark):
    return isinstance(mark, tuple)


def decide_run(fn, outcome):
    if fn in outcome:
        return HELD
    if ("done", fn) in outcome:
        return UNDECIDED
    return BROKE if package_of(fn) in outcome else UNDECIDED


def run_claims(key, outcomes):
    for fn in {x for x in set().union(*outcomes) if not is_aside(x)}:
        yield Claim([{"call": fn}, {"call": key}], lambda o, fn=fn: decide_run(fn, o), 7, 1)


def follow_claims(key, outcomes):
    for fn in {x for x in set().union(*outcomes) if not is_aside(x)}:
        yield Claim([{"call": key}, {"call": fn}], lambda o, fn=fn:
                    HELD if fn in o else BROKE if not any(map(is_aside, o)) or ("known", class_of(fn)) in o else UNDECIDED, 4, 1)
