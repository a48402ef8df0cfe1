# SPDX-License-Identifier: Apache-2.0
"""What names say that something is a secret, and what is told of it then."""
import json

import _traincheck_agent as agent

# Whole words of an option's name: --tokenizer and --max-tokens hold no secret.
_SECRET = frozenset(("key", "apikey", "token", "secret", "secrets", "password", "passwd", "pwd", "passphrase", "credential",
                     "credentials", "auth", "bearer"))
_OF_VOCABULARY = frozenset(("id", "ids", "index", "type"))  # words after "token"


def _words(name):
    """Of --hf_token, wandb.api_key, dbPassword, HFToken."""
    text = "".join(" " + c if c.isupper() and (not before.isupper() or after.islower()) else c if c.isalnum() else " "
                   for before, c, after in zip("-" + name, name, name[1:] + "-"))
    return text.lower().split()


def is_secret(name):
    words = _words(name)
    return any(word in _SECRET and not (word == "token" and after in _OF_VOCABULARY) for word, after in zip(words, [*words[1:], ""]))


def _guarded(param, is_outside):
    value, secret = json.loads(param.default) if param.default else None, is_secret(param.name)
    default = param.default
    if isinstance(value, str) and (secret or agent.is_withheld(value, is_outside)):
        default = f'{{"str":"","len":{len(value)}}}'
    elif secret and type(value) in (int, float):
        default = None
    return param._replace(default=default, secret=secret)


def guarded(signature, is_outside):
    """A signature whose defaults are told as what is given would be; is_outside: it is a package's."""
    return tuple(tuple(_guarded(param, is_outside) for param in params) for params in signature)


def flags(name, signature):
    """Of a function that may hand out a secret: its name says so, or that of a parameter."""
    return agent.SECRET if is_secret(name) or any(p.secret for params in signature for p in params) else 0
