# SPDX-License-Identifier: Apache-2.0
"""EventContain: examples and claims."""
from .replay import is_by_torch, is_training_forward, situation_of, situation_of_variable
from .terms import BROKE, HELD, ONE_ALONE, SUBJECTS, UNDECIDED, Claim, number_class, text


def is_subject(call):
    return not call["raised"] and (call["root"] or call["role"] in SUBJECTS)


def gradient_before(v, call):
    return v["grad_before"] if v["grad_cause"] >= call["id"] else v["grad"]


def has_no_rate(call):
    me = call.get("self") or {}
    return call["role"] in ("step", "zero_grad") and number_class(me["attrs"]["lr"]) in ("zero", "tiny")


def computes(call):
    return (call["root"] or call["role"] == "backward") and not any(x[:2] == ("call", "step") for x in call["inside"])


def line_of(p, call):
    """The nearest line of the script."""
    return next((c["at"] for c in p.around(call) if c.get("at")), None)


def is_flat(p, call, trained):
    """All gradients were computed to be zero, in the first or second step since this line gave one that was not, or not more often than it
    gave one, or it never did, as long as some other parameter has one."""
    given = {v["grad"] for v in trained} - {"null", "zero"}
    if not given and not any(v["grad"] == "zero" and v["is_zero_computed"] for v in trained):
        return False
    line = p.state["flat lines"].setdefault((call["name"], line_of(p, call)), {"given": 0, "flats": 0, "flat": False, "since": None})
    if not line["flat"]:
        line["since"] = call["step"]
    elsewhere = {gradient_before(v, call) for v in p.variables.values() if v["kind"] == "Parameter" and v["requires_grad"]} - {"null", "zero"}
    line["given"] += bool(given)
    line["flat"] = not given and bool(line["given"] or elsewhere)
    line["flats"] += line["flat"]
    return line["flat"] and (call["step"] - line["since"] < 2 or line["flats"] <= line["given"])


def only_starts(p, call):
    """No parameter was changed in it that a step had changed."""
    return all(v["kind"] != "Parameter" or v["data_cause"] < call["id"] or v["stepped"] < 0 or v.get("left") == v["first"]
               for v in p.variables.values())


def is_as_taken(p, call):
    """A load of what was perhaps taken, by another line, since the last step or load."""
    taken, line = p.state["taken"], line_of(p, call)
    is_so = call["role"] == "load" and "line" in taken and taken["line"] != line
    if call["role"] == "save":
        taken["line"] = line
    elif call["role"] in ("step", "load"):
        taken.pop("line", None)
    return is_so


def is_to_a_cache(p, call):
    """A backward where models ran since the last step, none of them with gradients."""
    return call["role"] == "backward" and p.state["ran"].get("how") == {False}


def follow_forwards(p, call):
    if call["role"] == "step":
        p.state["ran"].pop("how", None)
    elif call["root"]:
        p.state["ran"].setdefault("how", set()).add("grad" not in (call.get("ctx") or {}))


def contents(p, what, call):
    as_taken = what == "call" and is_as_taken(p, call)
    if what == "call":
        follow_forwards(p, call)
    if what == "call" and is_subject(call):
        inside = {x for x in call["inside"] if x[0] == "change" or (x[0] == "call" and not call["root"])}
        is_first = call["root"] and call["self"]["id"] not in p.state["has run"]
        if is_first:
            p.state["has run"][call["self"]["id"]] = True
        if is_first or (call["root"] and only_starts(p, call)):
            inside -= {x for x in inside if x[:3] == ("change", "Parameter", "data")}
        is_pause = call.get("is_pause", False)
        marks = {"no_update"} if has_no_rate(call) or is_pause else set()
        marks |= {"as_taken"} if as_taken else set()
        if call["observed"]:
            marks |= {"observed"} | ({"computes"} if computes(call) else set())
            owned_by_it = [p.variables[s] for s in call["params"]] or p.variables.values()
            trained = [v for v in owned_by_it if v["kind"] == "Parameter" and v["requires_grad"]]
            gradients = {gradient_before(v, call) for v in trained}
            if gradients - {"null", "zero"} and not is_pause:
                marks.add("grad_present")
            elif (not trained or not all(v.get("sharded") for v in trained)) and not is_pause and not is_to_a_cache(p, call):
                marks.add("grad_absent")
            if "nan_or_inf" in gradients:
                marks.add("overflow")
            if is_flat(p, call, trained):
                marks.add("flat")
        elif call["role"] == "scaler":
            marks.add("overflow")
        yield call["name"], situation_of(p, call, True), frozenset(inside | marks)


def rests(v, step):
    """It is not trained, nor has been written to, or not since an optimizer did, ten steps ago."""
    was_left = "left_step" in v and v.get("data") == v.get("left") and step - v["left_step"] >= 10
    return not v["requires_grad"] and v.get("data") is not None and (v["data"] == v["first"] or was_left)


def kind_of(p, v, step):
    """Buffers of a module are apart when it has parameters and all of them rest."""
    module = v["name"].rpartition(".")[0]
    beside = [not rests(w, step) for w in p.variables.values()
              if w["kind"] == "Parameter" and w["root"] == v["root"] and w["name"].rpartition(".")[0] == module]
    return "frozen_buffer" if v["kind"] == "buffer" and beside and not any(beside) else v["kind"]


def is_fresh(p, v):
    """A buffer of its module began with what a parameter of it began with and still has."""
    module = v["name"].rpartition(".")[0]
    beside = [w for w in p.variables.values() if w["root"] == v["root"] and w["name"].rpartition(".")[0] == module]
    made = {w["first"] for w in beside if w["kind"] == "Parameter" and w.get("data") is not None and w["data"] == w["first"]}
    return any(w["kind"] == "buffer" and w.get("first") in made for w in beside)


def kind_for_each(p, v, call):
    kind = kind_of(p, v, call["step"])
    return "buffer" if kind == "frozen_buffer" and is_fresh(p, v) else kind


def owned(p, what, call):
    if what == "finish":
        yield from (said for v, said in call.get("resting", {}).values() if v["data"] == v["first"])
    if what != "call" or not is_subject(call) or not (call["role"] == "step" or call["root"]):
        return
    if call["role"] == "step":
        variables = [v for v in (p.variables[s] for s in call["params"]) if v["requires_grad"]]
    else:
        variables = [v for v in p.variables.values() if v["kind"] == "buffer" and v["root"] == call["self"]["id"]]
    for v in variables:
        if call["role"] != "step":
            yield from moved_by_training(p, call, v)
        kind = kind_for_each(p, v, call)
        if kind == "frozen_buffer" and call["step"] < 2 or kind == "buffer" and p.world > 1:
            continue
        where = situation_of(p, call, False)
        is_cleared_inside = v["grad_cause"] > call["id"] and v["grad"] in ("null", "zero")
        grad = v["grad_before"] if v["grad_cause"] == call["id"] or is_cleared_inside else v["grad"]
        changed = v["data_cause"] >= call["id"]
        who = (call["name"], call["self"]["id"], v["serial"])
        streak = p.state["streak"][who] = 0 if changed else p.state["streak"].get(who, 0) + 1
        is_computed_zero = grad == v["grad"] == "zero" and v["is_zero_computed"]
        rests = call["role"] == "step" and (grad == "null" or is_computed_zero)
        is_small = call["role"] == "step" and (grad == "tiny" or (is_computed_zero and len(v["shape"]) < 2) or has_no_rate(call))
        has_moved = call["role"] == "step" and v["data"] != v["first"]
        is_unchanged = streak >= (1000 if rests else 10 if has_moved else 3) and not is_small and not call.get("is_pause")
        resting = p.shared.setdefault("resting", {})
        if changed or is_unchanged:
            resting.pop((p.file, who), None)
        elif rests and not is_small and not call.get("is_pause") and streak >= 10 and not has_moved and (grad == "null" or len(v["shape"]) > 1):
            at_end = (call["name"], kind), {**where, **situation_of_variable(v, grad)}, frozenset({("data", "unchanged")})
            resting.setdefault((p.file, who), (v, at_end))
        outcome = {("data", "changed")} if changed else {("data", "unchanged")} if is_unchanged else set()
        if call["role"] == "step":
            outcome.add(("cleared", text(v["serial"] not in call.get("uncleared", []))))
            stepper, p.state["stepper"][v["serial"]] = p.state["stepper"].get(v["serial"]), call["self"]["id"]
            if stepper is not None:
                outcome.add(("optimizer", text(stepper == call["self"]["id"])))
            if call["kept"][v["serial"]] is not None and not call["is_pause"]:
                outcome.add(("kept", text(call["kept"][v["serial"]])))
        if outcome:
            yield (call["name"], kind), {**where, **situation_of_variable(v, grad)}, frozenset(outcome)


def moved_by_training(p, call, v):
    """A buffer that a forward in training mode has changed: what becomes of it in evaluation mode. Ranks may exchange it."""
    moving, changed = p.state["moving"], v["data_cause"] >= call["id"]
    if call["self"]["attrs"]["training"]:
        moving.update({v["serial"]: True} if changed else {})
    elif v["serial"] in moving and p.world < 2:
        where = {**situation_of(p, call, False), **situation_of_variable(v, v["grad"])}
        yield (call["name"], "moving_buffer"), where, frozenset({("data", "changed" if changed else "unchanged")})


MARKS = {"observed", "computes", "grad_absent", "grad_present", "no_update", "overflow", "flat", "as_taken"}


def was_due(x, o):
    """What did not happen: could it have?"""
    if "overflow" in o:
        return False
    if x[0] == "call":
        return not (x[1] == "zero_grad" and {"observed", "grad_absent"} <= o)
    _, _, attr, before, after = x
    if attr == "data" and "as_taken" in o:
        return False
    if "flat" in o and (attr == "data" or (attr == "grad" and before == "clear")):
        return False
    if attr == "grad" and "clear" in (before, after):
        return "observed" in o and ("grad_absent" if before == "clear" else "grad_present") in o
    return "observed" in o and not (attr == "data" and "no_update" in o)


def some_claims(key, outcomes):
    for x in set().union(*outcomes) - MARKS:
        if x[:2] == ("change", "buffer"):
            continue
        if x[0] == "call":
            param = {"call": x[2], "role": x[1]}
        else:
            param = {"change": x[1], "attr": x[2], **({} if x[3] == "-" else {"from": x[3]}), "to": x[4]}
        yield Claim([{"call": key}, param], lambda o, x=x:
                    HELD if x in o else BROKE if was_due(x, o) else UNDECIDED, 2)


def none_claims(key, outcomes):
    change = ("change", "Parameter", "data", "-", "changed")
    if "computes" not in set().union(*outcomes):
        return
    yield Claim([{"call": key}, {"change": "Parameter", "attr": "data", "to": "changed"}],
                lambda o: UNDECIDED if "computes" not in o else BROKE if change in o
                else HELD if was_due(change, o - {"flat"})
                else UNDECIDED, 2)


def each_claims(key, outcomes):
    met = set().union(*outcomes)
    for kind, attr, to, other in (("Parameter", "data", "changed", "unchanged"), ("buffer", "data", "unchanged", "changed"),
                                  ("frozen_buffer", "data", "unchanged", "changed"), ("moving_buffer", "data", "unchanged", "changed"),
                                  ("Parameter", "cleared", "true", "false"), ("Parameter", "kept", "true", "false"), ("Parameter", "optimizer", "true", "false")):
        if kind == key[1] and (attr, to) in met:
            word = "change" if attr == "data" else "variable"
            yield Claim([{"call": key[0]}, {word: kind, "attr": attr, "to": to}], lambda o, yes=(attr, to), no=(attr, other):
                        HELD if yes in o else BROKE if no in o else UNDECIDED, {"kept": 20, "optimizer": ONE_ALONE}.get(attr, 2))


# ---- within


def may_change_weights(call):
    return call["root"] or call["role"] in (SUBJECTS | {"init"}) - {"library"}


def changes(p, what, x):
    """Keys "change": by which call, if any; "swap": was what an evaluation used first taken out again?"""
    foreign, left = p.state["foreign"] if p else None, p.state["left"] if p else None
    if what == "change" and x["variable"]["kind"] == "Parameter" and x["variable"]["requires_grad"]:
        v = x["variable"]
        around = next(filter(may_change_weights, p.around(x["call"])), None)
        is_made = around or x["stage"] == "init"
        if left.get(v["serial"], v["first"]) == v["data"]:
            if foreign.pop(v["serial"], {}).get("evaluated") and not p.state["writer"]:
                yield "swap", v["framework"], True
        elif is_made:
            foreign.pop(v["serial"], None)
        else:
            it = foreign.setdefault(v["serial"], {"variable": v, "evaluated": False})
            it["replaced"] = it["evaluated"]
        if is_made:
            left[v["serial"]] = v["data"]
        if around and x["stage"] == "training" and around["role"] not in ("load", "init"):
            yield "change", v["framework"], (around["role"], around["name"])
    elif what == "call" and not x["raised"] and x["root"]:
        for it in [it for it in foreign.values() if it["variable"]["root"] == x["self"]["id"]]:
            if not is_training_forward(x) or x["stage"] != "training":
                it["evaluated"] = True
                continue
            v = it["variable"]
            del foreign[v["serial"]]
            yield "change", v["framework"], None
            if not it["evaluated"]:
                p.state["writer"]["is"] = True
            elif not it["replaced"] and not p.state["writer"] and v["stepped"] >= 0:
                yield "swap", v["framework"], False


def within_claims(key, outcomes):
    makers = sorted(outcomes - {None}, key=" ".join) if key == "change" else []
    if 0 < len(makers) < 16:
        yield Claim([{"change": "Parameter", "attr": "data", "to": "changed"}, *({"call": fn, "role": role} for role, fn in makers)],
                    lambda o: HELD if o in makers else BROKE, 20)


def restored_claims(key, outcomes):
    if key == "swap":
        yield Claim([{"change": "Parameter", "attr": "data", "to": "kept"}], lambda o: HELD if o else BROKE, 7)


# ---- owned


def gradients(p, what, x):
    if what == "call" and (x["role"] == "step" or "training" not in x.get("self", {}).get("attrs", {})):  # a module clears, and owns nothing
        p.state["owners"].update(dict.fromkeys(x["params"]))
    if what == "call" and x["root"] and not x["raised"] and "grad" not in (x.get("ctx") or {}):
        p.state["asked roots"][x["self"]["id"]] = x["step"]
    if what == "change" and not x["call"]:
        p.state["by hand"][x["variable"]["serial"]] = True
    if what != "window" or not p.has_step:
        return
    streaks, by_hand, frozen = p.state["streaks"], p.state["by hand"], p.state["frozen"]
    for v in p.variables.values():
        if frozen.get(v["serial"], 0) < 3:
            frozen[v["serial"]] = 0 if v["requires_grad"] else frozen.get(v["serial"], 0) + 1
        if v["kind"] != "Parameter" or not v["requires_grad"] or v["grad"] in ("null", "zero"):
            continue
        is_owned = v["serial"] in p.state["owners"]
        is_by_hand = by_hand.pop(v["serial"], False)
        if not (is_owned or is_by_hand) and p.state["asked roots"].get(v.get("root"), x["step"]) < x["step"]:
            continue  # computed once, to look at it, and left over
        streaks[v["serial"]] = 0 if is_owned or is_by_hand else streaks.get(v["serial"], 0) + 1
        is_beside_frozen = len(v["shape"]) < 2 and any(
            w["kind"] == "Parameter" and w["root"] == v["root"] and len(w["shape"]) >= 2 and not w["requires_grad"]
            for w in p.variables.values())
        is_thawed = len(v["shape"]) < 2 and frozen[v["serial"]] == 3
        if is_owned or (streaks[v["serial"]] >= 3 and not is_beside_frozen and not is_thawed):
            yield v["kind"], situation_of_variable(v), is_owned


def owned_claims(key, outcomes):
    yield Claim([{"variable": key, "attr": "owned", "to": "true"}], lambda o: HELD if o else BROKE, 4)


# ---- sets


def sets(p, what, call):
    if what != "call" or call["raised"] or call["role"] != "scheduler" or is_by_torch(call) or \
            any(c["role"] == "scheduler" for c in p.around(call["above"])):
        return
    told = p.state["scheduler", call["self"]["id"]]
    is_set, is_set_idle = ((word, "param_group") in call["inside"] for word in ("set", "set_idle"))
    any_at_work = any(g["kind"] == "param_group" and not g["idle"] for g in p.settings.values())
    if not is_set and is_set_idle and any_at_work:
        told["set_idle"] = told.get("set_idle", 0) + 1
        is_set_idle = told["set_idle"] == 3
    else:
        is_set_idle = False
    if (is_set or is_set_idle) and "told" not in told:
        told["told"] = True
        yield call["name"], situation_of(p, call, True), is_set


def sets_claims(key, outcomes):
    yield Claim([{"call": key}, {"change": "param_group", "attr": "settings", "to": "changed"}], lambda o: HELD if o else BROKE,
                4, 1)
