#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of many runs in a browser: sorting, finding, links."""

import os

import runs
from browser import Pages
from test_fleet import Case

ROWS = "[...document.querySelectorAll('#runs tbody tr')].filter(r => !r.hidden).map(r => [...r.cells].map(c => c.textContent))"


class FleetPage(Pages, Case):
    def setUp(self):
        super().setUp()
        self.open_page(self.work / "out" / "index.html", 1280, 800)

    def names(self):
        return [row[1] for row in self.get(ROWS)]

    def test_what_failed_stands_first(self):
        self.assertEqual([row[0] for row in self.get(ROWS)], ["failed"] * 3 + ["unread"] + ["passed"] * 10)
        self.assertEqual(self.get("document.querySelector('h1').textContent"), "14 runs: 3 failed, 1 unread, 10 passed")

    def test_sorting(self):
        self.get("document.querySelectorAll('#runs th button')[1].click()")
        names = self.names()
        self.assertEqual(names[:12], [f"many{i}" for i in range(12)])  # many10 behind many9
        self.get("document.querySelectorAll('#runs th button')[1].click()")
        self.assertEqual(self.names(), names[::-1])

    def test_what_is_not_known_comes_last(self):
        for _ in ("ascending", "descending"):
            self.get("document.querySelectorAll('#runs th button')[5].click()")
            findings = [row[5] for row in self.get(ROWS)]
            self.assertEqual([bool(text) for text in findings], [True] * 4 + [False] * 10)

    def test_finding(self):
        self.get("(find.value = 'TRAIN0 gradient', find.dispatchEvent(new Event('input')))")
        self.assertEqual(self.names(), ["many3"])
        self.assertEqual(self.get("shown.textContent"), "1 of 14 runs")

    def test_links_lead_to_reports(self):
        links = self.get("[...document.querySelectorAll('#runs a')].map(a => decodeURIComponent(new URL(a.href).pathname))")
        self.assertEqual(len(links), 13)
        self.assertEqual([link for link in links if not os.path.exists(link)], [])

    def test_on_a_phone(self):
        self.open_page(self.work / "out" / "index.html", 390, 800)
        self.get("(find.value = 'many3', find.dispatchEvent(new Event('input')))")
        self.assertEqual(self.names(), ["many3"])
        self.assertEqual(self.get("document.querySelector('#runs tr[hidden]').getClientRects().length"), 0)


if __name__ == "__main__":
    runs.main()
