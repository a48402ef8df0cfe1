# SPDX-License-Identifier: Apache-2.0
"""What names say that something is a secret, and what is told of it then."""
import json

import _traincheck_agent as agent

# Whole words of an option's name: --tokenizer and --max-tokens hold no secret.
_SECRET = frozenset(("key", "apikey", "token", "secret", "secrets", "password", "passwd", "pwd", "passphrase", "credential",
                     "credentials", "auth", "bearer"))


def _words(name):
    """Of --hf_token, wandb.api_key, dbPassword, HFToken."""
    text = "".join(" " + c if c.isupper() and (not before.isupper() or after.islower()) else c if c.isalnum() else " "
                   for before, c, after in zip("-" + name, name, name[1:] + "-"))
    return text.lower().split()


def is_secret(name):
    return not _SECRET.isdisjoint(_words(name))


def has_secret(function):
    """Has it a parameter whose name says so?"""
    code = getattr(function, "__code__", None)
    return code is not None and any(map(is_secret, code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]))


def _guarded(param):
    value = json.loads(param.default) if param.default else None
    return param._replace(default=f'{{"str":"","len":{len(value)}}}') if agent.is_withheld(value) else param


def guarded(signature):
    """A signature whose defaults are told as what is given would be."""
    return tuple(tuple(map(_guarded, params)) for params in signature)
