# SPDX-License-Identifier: Apache-2.0
"""APIArg and APIOutput: examples and claims."""
import itertools
import json

from .replay import is_by_the_user, is_by_torch, situation_of
from .terms import BROKE, EVERY, FOREIGN, HELD, ONE_ALONE, UNDECIDED, Claim, text

DIMENSIONS = {"dim", "axis", "start_dim", "end_dim", "dim0", "dim1"}
CONTRARY = {"equals": "differs_from", "at_most": "exceeds", "at_least": "below"}


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def is_same_scalar(a, b):
    return type(a) is type(b) and isinstance(a, (bool, int, float, type(None))) and a == b


def is_tensor(v):
    return isinstance(v, dict) and "tensor" in v


def is_index(tensor):
    return tensor["dtype"].startswith("int") or tensor["dtype"] == "uint8"


def defaults_among(p, call):
    defaults = p.defaults.get(call["fn"], {})
    return {("default", "is", f"args.{k}") for k, v in (call.get("args") or {}).items()
            if k in defaults and is_same_scalar(v, defaults[k])}


# ---- what one call says: a set of (left, verb, right)


def about_arguments(p, call):
    args = call.get("args") or {}
    tensors = {f"args.{k}": v for k, v in args.items() if is_tensor(v)}
    first = next(iter(tensors.values()), None)
    for name, v in args.items():
        if isinstance(v, bool):
            yield f"args.{name}", "is", text(v)
        elif isinstance(v, int) and name in DIMENSIONS and first:
            from_end = v if v < 0 else v - len(first["shape"])
            yield f"args.{name}", "is", text(from_end)
            if len(first["shape"]) == 2 or from_end == -1:
                yield f"args.{name}.matrix", "is", text(from_end)
        elif is_number(v) and call["role"] not in ("seed", "init", "fill"):
            yield f"args.{name}", "is", text("zero" if v == 0 else "not_zero")
    if isinstance(args.get("parameters"), list) and call["role"] in ("clip", "function"):
        yield "args.parameters.some.given", "is", text(bool(args["parameters"]))
    owner = next((c for c in p.around(call["above"]) if c["role"] in ("forward", "layer")), None)
    if "training" in args and owner and args.get("p") != 0:
        yield "args.training", "equals" if args["training"] == owner["self"]["attrs"]["training"] else "differs_from", \
            "owner.training"
    if call["role"] not in FOREIGN:
        for (a, x), (b, y) in itertools.combinations(tensors.items(), 2):
            for part, is_equal in parts_of(x, y):
                yield f"{a}.{part}", "equals" if is_equal else "differs_from", f"{b}.{part}"


def parts_of(x, y):
    yield "dtype", x["dtype"] == y["dtype"]
    yield "shape", x["shape"] == y["shape"]
    if x["shape"] and y["shape"]:
        yield "shape[0]", x["shape"][0] == y["shape"][0]
        if is_index(x) == is_index(y):
            yield "shape[-1]", x["shape"][-1] == y["shape"][-1]


def about_autocast(call, path, tensor):
    autocast = (call.get("ctx") or {}).get("autocast")
    if autocast and tensor["dtype"] in ("float32", "bfloat16", "float16"):
        yield f"{path}.dtype", "equals" if tensor["dtype"] in autocast.values() else "differs_from", "ctx.autocast"


def is_about_gradients(call):
    around = call["above"]
    return bool(around) and (around["role"] in ("clip", "unscale", "scaler") or is_about_gradients(around))


def makes_a_batch(call):
    around = call["above"]
    return bool(around) and (around["role"] == "data" or makes_a_batch(around))


def is_of_data(p, call):
    """Made by no model, and for none to learn by."""
    value = call["end"].get("value")
    in_model = any(c["root"] or c["role"] in ("forward", "layer") for c in p.around(call["above"]))
    return call["role"] == "function" and is_tensor(value) and value.get("requires_grad") is False and \
        "grad" not in (call.get("ctx") or {}) and not in_model


def about_result(p, call):
    end, args = call["end"], call.get("args") or {}
    value = end.get("value")
    if end.get("finite") is not None and not (is_about_gradients(call) or makes_a_batch(call) or is_of_data(p, call)):
        yield "self" if call["role"] == "backward" else "value", "is", text("finite" if end["finite"] else "not_finite")
    if is_tensor(value):
        yield from about_autocast(call, "value", value)
        yield from about_gradients(call, value, [v for v in args.values() if is_tensor(v)])
        for name, v in args.items():
            if "same" in end and is_tensor(v) and (v["shape"], v["dtype"]) == (value["shape"], value["dtype"]):
                yield "value.content", "equals" if f"args.{name}" in end["same"] else "differs_from", f"args.{name}.content"
        if call["role"] in FOREIGN:
            yield from about_sizes(value["shape"], args)
    elif isinstance(value, bool):
        yield "value", "is", text(value)
    elif isinstance(value, list):
        yield "len(value)", "is", text("not_zero" if value else "zero")
    elif isinstance(value, dict):
        for name, v in value.get("dict", {}).items():
            if isinstance(v, list):
                yield f"len(value.{name})", "is", text("not_zero" if v else "zero")
            elif is_tensor(v):
                yield from about_autocast(call, f"value.{name}", v)


FLOATS = ("float32", "bfloat16", "float16")


def about_gradients(call, value, tensors):
    """What makes one number of several tensors, as a loss does."""
    asks = [v["requires_grad"] for v in tensors if v["dtype"] in FLOATS and "requires_grad" in v]
    if call["role"] != "function" or len(tensors) < 2 or value["shape"] or value["dtype"] not in FLOATS or not asks:
        return
    if any(asks) or "no graph" not in call["after"] or "graph" in call["after"]:
        yield "args.some.requires_grad", "is", text(any(asks))
    if len(asks) > 1:
        yield "args.all.requires_grad", "is", text(all(asks))


def about_sizes(shape, args):
    for name, v in args.items():
        if not isinstance(v, int) or isinstance(v, bool) or v < 1 or name in DIMENSIONS:
            continue
        for d, size in enumerate(shape):
            yield f"value.shape[{d}]", "at_most" if size <= v else "exceeds", f"args.{name}"
            yield f"value.shape[{d}]", "at_least" if size >= v else "below", f"args.{name}"
            if size == v > 1:
                yield f"value.shape[{d}]", "reaches", f"args.{name}"


def about_mode(call):
    if call["root"]:
        training = call["self"]["attrs"]["training"]
        yield "self.training", "is", text("left" if training and "grad" in (call.get("ctx") or {}) else training)


def is_set_apart(p, call):
    """In a layer whose own mode the script has set, to another than its root's."""
    chain = [call, *p.around(call["above"])]
    layer = next((c for c in chain if c["role"] == "layer"), None)
    root = next((c for c in chain if c["root"]), None)
    mode = lambda c: (c or {}).get("self", {}).get("attrs", {}).get("training")  # noqa: E731
    return layer is not None and layer.get("self", {}).get("id") in p.state["set_by_hand"] and bool(mode(layer)) != bool(mode(root))


def is_by_a_teacher(p, call):
    """A model that drops, outside of the training and without gradients, that no optimizer steps and that each step asks."""
    is_dropping = (call.get("args") or {}).get("training", (call.get("self") or {}).get("attrs", {}).get("training"))
    root = next((c for c in [call, *p.around(call["above"])] if c["root"]), None)
    if is_dropping is not True or root is None or "grad" not in (root.get("ctx") or {}) or call["stage"] == "training":
        return False
    serial, now = root["self"]["id"], root["step"]
    teacher = p.state["teachers"].setdefault(serial, {"last": None, "is one": True})
    if teacher["last"] != now:
        is_in_time = teacher["last"] is None or now <= teacher["last"] + 2
        is_stepped = any(v.get("root") == serial and v["stepped"] >= 0 for v in p.variables.values())
        teacher.update({"last": now, "is one": teacher["is one"] and is_in_time and not is_stepped})
    return teacher["is one"]


def operands(p, what, call):
    if what != "call" or call["raised"]:
        return
    if call["role"] == "mode" and not call["above"]:
        p.state["set_by_hand"][call.get("self", {}).get("id")] = True
    if is_set_apart(p, call) or is_by_a_teacher(p, call):
        return
    said = {("call", "is", what) for what, roles in (("rare", {"load", "save"}), ("users", FOREIGN)) if call["role"] in roles}
    said |= {*about_arguments(p, call), *defaults_among(p, call), *about_result(p, call), *about_mode(call)}
    yield call["name"], situation_of(p, call, True), frozenset(said)


# ---- claims


def statement_claims(is_wanted, pipelines):
    def claims(key, outcomes):
        for s in set().union(*outcomes):
            if is_wanted(*s) and is_worth(s, outcomes):
                yield claim_of(key, s, outcomes, pipelines)
    return claims


def is_worth(s, outcomes):
    left, verb, right = s
    if verb == "is" and left.startswith("args."):
        return any(("default", "is", left.removesuffix(".matrix")) not in o for o in outcomes
                   if any((x, y) == (left, "is") for x, y, _ in o))
    return verb != "at_least" or any((left, "reaches", right) in o for o in outcomes)


OF_ALL_OPERANDS = ("args.some.requires_grad", "args.all.requires_grad", "args.state_dict.some.known", "args.parameters.some.given")


def claim_of(key, s, outcomes, pipelines):
    left, verb, right = s
    is_switch = verb == "is" and left.startswith("args.") and right in ("true", "false")
    is_flag = is_switch and left not in OF_ALL_OPERANDS
    is_about_argument = left.startswith("args.") or right.startswith("args.")
    if pipelines == 7 and verb == "equals" and left.endswith(".shape") and right.endswith(".shape"):
        pipelines = 4
    if is_flag or left == "self.training" or left.endswith(".matrix"):
        pipelines = 7
    if verb == "is" and right.startswith("-") and not left.endswith(".matrix"):
        pipelines = EVERY
    is_users = is_about_argument and any(("call", "is", "users") in o for o in outcomes)
    is_default = verb == "is" and left.startswith("args.") and not any(
        s in o and ("default", "is", left.removesuffix(".matrix")) not in o for o in outcomes)
    if is_users or is_default or (left, right) == ("self.training", "true"):
        pipelines = ONE_ALONE
    return Claim([{"call": key}, {"operand": left, verb: json.loads(right) if verb == "is" else right}],
                 lambda o: decide(s, o), pipelines, 1 if any(("call", "is", "rare") in o for o in outcomes) else 3,
                 is_switch or left.endswith(".content") or (verb == "is" and left.startswith("args.") and right == '"zero"'))


def decide(s, outcome):
    left, verb, right = s
    if s in outcome:
        return HELD
    if verb == "is":
        return BROKE if any((x, y) == (left, "is") for x, y, _ in outcome) else UNDECIDED
    return BROKE if (left, CONTRARY[verb], right) in outcome else UNDECIDED


def is_result(path):
    return path.startswith(("value", "len("))


CONTRARIES = {("args.some.requires_grad", "false"), ("args.all.requires_grad", "true"), ("args.state_dict.some.known", "false"),
              ("args.parameters.some.given", "false")}
NO_FACT = ('"not_zero"', '"left"', '"finite"', '"not_finite"')

arg_constant_claims = statement_claims(
    lambda left, verb, right: verb == "is" and right not in NO_FACT and (left, right) not in CONTRARIES
    and (left.startswith("args.") or left == "self.training"), 4)
arg_equal_claims = statement_claims(lambda left, verb, right: verb == "equals" and left.startswith("args."), 7)
output_constant_claims = statement_claims(
    lambda left, verb, right: verb == "is" and right not in NO_FACT and is_result(left), 4)
output_equal_claims = statement_claims(lambda left, verb, right: verb == "equals" and is_result(left), 7)
lower_claims = statement_claims(lambda left, verb, right: verb == "at_least", 7)
upper_claims = statement_claims(lambda left, verb, right: verb == "at_most", 7)
finite_claims = statement_claims(lambda left, verb, right: right == '"finite"', 4)


def hides_operands(params, field):
    """What explains nothing about these operands: they themselves, and what they are made from."""
    operand = params[1]
    made_from = {"stage", "owner.training", "in", "self.class"} if operand["operand"] == "self.training" else set()
    return field in {operand["operand"], operand["operand"].removesuffix(".matrix"), *map(str, operand.values()), *made_from}


# ---- distinct: initialisers in one window, workers that live at the same time


def distinct(p, what, x):
    if what == "call" and not x["raised"] and x["role"] == "init":
        target = next((v["id"] for v in (x.get("args") or {}).values() if is_tensor(v)), None)
        if target is None or any(c["role"] == "init" for c in p.around(x["above"])) or not is_by_the_user(p, x):
            return
        seen, script = p.state["initialised", x["window"]], [c["id"] for c in p.around(x)][-1]
        what = x["fn"], target, text([v for v in x["args"].items() if not is_tensor(v[1])])
        if seen.get(what) != script:
            yield "init *", {"stage": text(x["stage"])}, (what not in seen, False)
            seen.setdefault(what, script)
    elif what == "worker call" and not x["raised"] and not x["above"]:
        uses = p.shared.setdefault("uses", {})
        for name, v in (x.get("args") or {}).items():
            value = v if is_number(v) and x["role"] == "seed" else v.get("digest") if isinstance(v, dict) else None
            if value is not None:
                place = p.head["unix_ns"] + x["end"]["t"], p.file
                uses.setdefault((p.head.get("ppid", 0), f"{x['fn']} args.{name}"), {}).setdefault((value, p.file), (place, p))
    elif what == "finish":
        for (_, key), of_key in x.get("uses", {}).items():
            yield from in_workers(key, of_key)


def in_workers(key, uses):
    """uses: (value, file) to the first place where that process used it, and the process."""
    for (value, _), (place, p) in uses.items():
        siblings = [(v, there) for (v, _), (there, q) in uses.items()
                    if p is not q and p.began <= q.lived_until and q.began <= p.lived_until]
        if siblings:
            yield key, {}, (not any(v == value and there < place for v, there in siblings), isinstance(value, str))


def distinct_claims(key, outcomes):
    fn, operand = key.split()
    params = [{"call": "*", "role": "init"}] if key == "init *" else [{"call": fn}, {"operand": operand, "is": "distinct"}]
    yield Claim(params, lambda o: HELD if o[0] else BROKE, ONE_ALONE if any(is_content for _, is_content in outcomes) else 2, 1)
