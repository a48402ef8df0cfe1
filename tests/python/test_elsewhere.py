# SPDX-License-Identifier: Apache-2.0
"""Content that lies elsewhere than on the CPU: it is asked by operators of torch or by a kernel, leaves the same trace, and comes in one copy.

There need not be an accelerator: the agent is told to take the CPU for one. What this cannot show is a device on which an
operator is missing or means something else."""
import unittest

from elsewhere_case import ALL_CONTENT, Compared, EVERYTHING, HERE, LACKING, NUMBERS_COUNTED, PLAIN_MODEL, STANDIN, content


class Elsewhere(Compared):
    """Any other device, which operators of torch ask."""

    def test_it_leaves_the_same_trace(self):
        _, there = self.compare_text(EVERYTHING)
        records = there.records()
        grads = {r["attrs"].get("grad") for r in records if r["type"] == "var"}
        self.assertLessEqual({"null", "zero", "tiny", "non_zero", "nan_or_inf"}, grads)
        self.assertLessEqual({0.5, 0.25, 0.125}, {r["attrs"].get("lr") for r in records if r["type"] == "var"})
        for member in "digest", "rows", "summary", "scale", "value", "constant", "equal", "same", "finite":
            self.assertIn(f"'{member}'", str(records))
        self.assertIn("'finite': False", str(records))

    def test_it_leaves_the_same_trace_of_all_content_beyond_the_budget(self):
        _, there = self.compare_text(EVERYTHING, *ALL_CONTENT)
        self.assertTrue([r for r in there.records() if r["type"] == "var" and str(r["attrs"].get("data")).startswith("~")])
        self.assertIn("'range'", str(there.records()))

    def test_all_of_a_look_comes_in_one_copy(self):
        here, there = self.compare_text(PLAIN_MODEL)
        self.assertEqual(here.out, "0 0 0\n")
        looks, copies, read = map(int, there.out.split())
        self.assertEqual((copies, read), (looks, 0))
        # Each record of a call is a look of its own; 40 variables and as many gradients together are another.
        asking = [r for r in there.records() if r["type"] in ("call", "return")]
        self.assertLess(looks, len(asking) + 30)

    def test_numbers_that_are_tensors_come_with_a_look(self):
        here, there = self.compare_text(NUMBERS_COUNTED)
        self.assertEqual(here.out, "0 0 0\n")
        looks, copies, read = map(int, there.out.split())
        self.assertEqual((copies, read), (looks, 0))
        found = [r["attrs"] for r in there.records() if r["type"] == "var"]
        self.assertEqual([a["lr"] for a in found if "lr" in a], [0.5, 0.25, 0.125, 0.0625])
        self.assertEqual([a["scale"] for a in found if "scale" in a], [4.0, 8.0, 4.0, 8.0])
        calls = {r["id"]: r["fn"].rpartition(".")[2] for r in there.records() if r["type"] == "call"}
        found_inf = [(calls[r["id"]], r["found_inf"]) for r in there.records() if "found_inf" in r]
        self.assertEqual(found_inf, [(name, step == 3) for step in range(6) for name in ("unscale_", "step")])

    def test_a_device_that_lacks_an_operator_is_read_by_copies(self):
        self.compare_text(PLAIN_MODEL, LACKING=LACKING)


class Late(Compared):
    """Its answers come late."""
    STANDS_IN = {"TRAINCHECK_TEST_ELSEWHERE": "1", "STANDIN": STANDIN, "STANDIN_SCRIPT": str(HERE / "standin.py")}
    DRIVER = {"ASKS_DRIVER": "1"}

    def test_it_leaves_the_same_trace_in_the_same_order_and_training_does_not_wait(self):
        _, there = self.compare_text(EVERYTHING, **self.DRIVER)
        self.assertTrue([r for r in there.records() if r.get("uncleared")])
        self.assertEqual(there.out, "0 True\n")

    def test_numbers_that_are_tensors_come_late(self):
        _, there = self.compare_text(NUMBERS_COUNTED.replace("print(n", "print(len(waited) if 'waited' in globals() else 0, n[\"read\"]) or (n"),
                                     **self.DRIVER)
        self.assertEqual(there.out, "0 0\n")

    def test_a_device_that_is_lost_costs_answers_and_no_records(self):
        script = self.script(PLAIN_MODEL)
        (here,), there = self.run_here(script, (), ())[1], self.run_there(script, STANDIN_FAILS_AT="40", **self.DRIVER)
        self.assert_whole(there)
        kinds = [[(r["type"], r.get("fn")) for r in content(records) if r["type"] in ("call", "return", "step")]
                 for records in (here, there.records())]
        self.assertEqual(*kinds)
        self.assertIn("the device is lost", str(self.notes(there, "switched-off")))


if __name__ == "__main__":
    unittest.main()
