#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dashboard of examples/monitoring is what Grafana takes, by the types that Grafana publishes.

usage: test_dashboard.py [TEST...]          with the packages of tests/report/requirements.txt
"""

import json
import pathlib
import unittest

from grafana_foundation_sdk.cog import encoder, plugins
from grafana_foundation_sdk.models import dashboard

DASHBOARD = pathlib.Path(__file__).resolve().parents[2] / "examples" / "monitoring" / "dashboard.json"


def as_grafana_reads(text):
    """What is left once it is read into Grafana's types: a key that these lack is gone."""
    read = dashboard.Dashboard.from_json(json.loads(text))
    return json.loads(encoder.JSONEncoder().encode(read))


def lost(before, after, path=""):
    """Places of `before` that `after` does not have."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [place for key, value in before.items()
                for place in (lost(value, after[key], f"{path}.{key}") if key in after else [f"{path}.{key}"])]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [place for i, (a, b) in enumerate(zip(before, after)) for place in lost(a, b, f"{path}[{i}]")]
    return [] if before == after else [path]


class Dashboard(unittest.TestCase):
    def setUp(self):
        plugins.register_default_plugins()
        self.text = DASHBOARD.read_text()

    def test_nothing_of_it_is_unknown(self):
        self.assertEqual(lost(json.loads(self.text), as_grafana_reads(self.text)), [])

    def test_a_misspelt_key_is_found(self):
        for key, wrong, place in (("templating", "templates", ".templates"), ("gridPos", "gridpos", ".panels[0].gridpos"), ("expr", "exp", ".panels[0].targets[0].exp")):
            with self.subTest(key):
                text = self.text.replace(f'"{key}"', f'"{wrong}"')
                self.assertIn(place, lost(json.loads(text), as_grafana_reads(text)))

    def test_panels_do_not_overlap(self):
        taken = set()
        for panel in json.loads(self.text)["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertLessEqual(at["x"] + at["w"], 24)
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells


if __name__ == "__main__":
    unittest.main()
