# SPDX-License-Identifier: Apache-2.0
"""Inference by brute force, from docs/relations.md: lists of examples, every conjunction tried, nothing compressed.

For traces of trace_writer.py; slow, and without pruning (--keep-implied). All forms are here but the facts of one script, which
are in facts.py. What these traces cannot show is
left out: sampled digests, gaps of sampling, calls of other threads, restarted ranks, ranks that never report, arguments by
position, strings and lists beyond the bounds of the format. What is held against it are params, preconditions and counts; not
the contexts, which only checking asks for.
"""
import collections
import itertools
import json
import pathlib

from . import consistent, contain, operands, sequence
from .replay import Process
from .terms import BROKE, EVERY, HELD, ONE_ALONE, UNDECIDED, Example, text

# source(process, what, it) yields (key, situation, outcome); claims(key, outcomes) what to try on them
Form = collections.namedtuple("Form", "source claims hides mode_only", defaults=(lambda params, field: False, False))
FORMS = {
    "EventContain/some": Form(contain.contents, contain.some_claims),
    "EventContain/none": Form(contain.contents, contain.none_claims),
    "EventContain/each": Form(contain.owned, contain.each_claims),
    "EventContain/within": Form(contain.changes, contain.within_claims),
    "EventContain/restored": Form(contain.changes, contain.restored_claims),
    "EventContain/owned": Form(contain.gradients, contain.owned_claims),
    "EventContain/sets": Form(contain.sets, contain.sets_claims),
    "APISequence/window": Form(sequence.window, sequence.window_claims),
    "APISequence/between": Form(sequence.between, sequence.between_claims),
    "APISequence/run": Form(sequence.run_course, sequence.run_claims),
    "APISequence/follow": Form(sequence.follow, sequence.follow_claims),
    "Consistent/replica": Form(consistent.replica, consistent.equal_claims),
    "Consistent/alias": Form(consistent.alias, consistent.equal_claims),
    "Consistent/peer": Form(consistent.peer, consistent.peer_claims),
    "Consistent/steady": Form(consistent.steady, consistent.equal_claims),
    "APIArg/constant": Form(operands.operands, operands.arg_constant_claims, operands.hides_operands, True),
    "APIArg/equal": Form(operands.operands, operands.arg_equal_claims, operands.hides_operands),
    "APIArg/distinct": Form(operands.distinct, operands.distinct_claims),
    "APIOutput/constant": Form(operands.operands, operands.output_constant_claims, operands.hides_operands, True),
    "APIOutput/equal": Form(operands.operands, operands.output_equal_claims, operands.hides_operands),
    "APIOutput/lower": Form(operands.operands, operands.lower_claims, operands.hides_operands),
    "APIOutput/upper": Form(operands.operands, operands.upper_claims, operands.hides_operands),
    "APIOutput/finite": Form(operands.operands, operands.finite_claims, operands.hides_operands),
}

# ---- preconditions

ORDER = ["stage", "ctx.autocast", "ctx.inference", "ctx.*", "after.*", "closure", "in", "self.training", "owner.training",
         "world", "uses.*", "self.class", "self.*", "v.kind", "v.requires_grad", "v.attr.*", "v.dtype", "v.owner", "v.*", "args.*"]
OPEN = {"ctx.autocast", "in", "self.class", "v.dtype", "v.owner"}
MODE = {"stage", "ctx.autocast", "ctx.inference", "ctx.*", "self.training", "owner.training"}
CLOSED = {"true", "false", "null"} | {text(w) for w in (
    "zero", "tiny", "positive", "negative", "non_zero", "nan_or_inf", "null", "all", "some", "none", "one", "many",
    "training", "init", "evaluation", "checkpointing")}


def row_of(field):
    return next(i for i, row in enumerate(ORDER) if field == row or (row.endswith("*") and field.startswith(row[:-1])))


def is_closed(field, value):
    row = ORDER[row_of(field)]
    return row == "v.attr.*" or (row not in OPEN and value in CLOSED)


def is_true(clause, situation):
    field, value, negated = clause
    return (situation.get(field) == value) != negated


def clauses(held, broken, witnesses, mode_only):
    """Candidates in the order of fields; held: situation → pipelines."""
    found = set()
    for s in held:
        for field, value in s:
            if is_closed(field, value) or len(set().union(*(p for t, p in held.items() if (field, value) in t))) >= witnesses:
                found.add((field, value, False))
    found |= {(field, value, True) for s in broken for field, value in s if is_closed(field, value)}
    found = [c for c in found if not mode_only or ORDER[row_of(c[0])] in MODE]
    return sorted(found, key=lambda c: (row_of(c[0]), c[0], c[2], c[1]))


def search(held, broken, witnesses, mode_only):
    """The best conjunction that is false on all of broken, or None."""
    candidates, seen = [], set()
    for c in clauses(held, broken, witnesses, mode_only):
        extension = (frozenset(s for s in held if is_true(c, dict(s))), frozenset(s for s in broken if is_true(c, dict(s))))
        if extension not in seen:  # of clauses that are true on the same situations the first stands for all
            seen.add(extension)
            candidates.append((c, *extension))
    best, covered = None, 0
    for n in (1, 2, 3):
        for group in itertools.combinations(candidates, n):
            if frozenset.intersection(*(b for _, _, b in group)):
                continue
            size = len(frozenset.intersection(*(h for _, h, _ in group)))
            if size > covered:
                best, covered = [c for c, _, _ in group], size
        if covered == len(held):
            break
    return best


def is_enough(claim, when, n_examples, n_pipelines, of, is_one_script):
    """Is it, when n_pipelines carry a claim with these clauses and so many examples, of that many?"""
    if claim.pipelines == EVERY and n_pipelines < of:
        return False
    if of == 1 or is_one_script:
        return n_examples >= claim.examples and not (claim.is_choice and not when)
    if claim.pipelines == ONE_ALONE:
        return False
    wanted = of if claim.pipelines == EVERY else claim.pipelines + 2 * sum(not field.startswith("uses.") for field, _, _ in when)
    return n_examples >= claim.examples and n_pipelines >= wanted


def deduce(form, claim, examples, n_pipelines, is_one_script):
    """(when, held, excluded, pipelines), or None. Runs of one script are one witness, however many they are."""
    decided = [(e, verdict, frozenset((k, v) for k, v in e.situation.items() if not form.hides(claim.params, k)))
               for e in examples if (verdict := claim.decide(e.outcome)) is not UNDECIDED]
    held = [(e.pipeline, s) for e, verdict, s in decided if verdict == HELD]
    broken = {s for e, verdict, s in decided if verdict == BROKE}
    when = []
    if broken:
        where = collections.defaultdict(set)
        for pipeline, s in held:
            if s not in broken:
                where[s].add(pipeline)
        witnesses = 1 if is_one_script or n_pipelines == 1 else 2
        when = search(where, broken, witnesses, form.mode_only) if where else None
        if not when:
            return None
        covered = set().union(*(p for s, p in where.items() if all(is_true(c, dict(s)) for c in when)))
        if len(covered) < 0.8 * len({p for p, _ in held}):
            return None
    judged = [(p, s) for p, s in held if all(is_true(c, dict(s)) for c in when)]
    carriers = {p for p, _ in judged}
    if not is_enough(claim, when, len(judged), len(carriers), n_pipelines, is_one_script):
        return None
    return when, len(judged), len(decided) - len(judged), len(carriers)


def examples_of(folder):
    """(key, example) of all processes of a run, for each form: its source has states of its own."""
    found = {name: [] for name in FORMS}
    shared = {name: {} for name in FORMS}

    def ask(p, what, it, states):
        for name, form in FORMS.items():
            if p:
                p.state, p.shared = states[name], shared[name]
            found[name].extend((key, Example(folder, key, s, o)) for key, s, o in form.source(p, what, it or shared[name]))

    for file in sorted(pathlib.Path(folder).glob("trace_*")):
        states = {name: collections.defaultdict(dict) for name in FORMS}
        Process(file).run(lambda *event, states=states: ask(*event, states))
    ask(None, "finish", None, None)
    return found


def infer(folders, is_one_script=False):
    """{(relation, params, when): (held, excluded, pipelines)}, keys as JSON text."""
    of_folders = [examples_of(folder) for folder in folders]
    found = {}
    for name, form in FORMS.items():
        by_key = collections.defaultdict(list)
        for examples in of_folders:
            for key, example in examples[name]:
                by_key[key].append(example)
        for key, examples in by_key.items():
            for claim in form.claims(key, {e.outcome for e in examples}):
                result = deduce(form, claim, examples, len(folders), is_one_script)
                if result:
                    when = [{"field": f, "not" if negated else "is": json.loads(v)} for f, v, negated in result[0]]
                    found[name, text(claim.params), text(when)] = result[1:]
    return found
