#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manifests of examples/monitoring are what the API of Kubernetes takes, by its schemas, no unknown key among them.

usage: test_manifest.py [TEST...]          with the packages of tests/report/requirements.txt
"""

import copy
import pathlib
import unittest

import kubernetes_validate
import yaml

MANIFEST = pathlib.Path(__file__).resolve().parents[2] / "examples" / "monitoring" / "sidecar.yaml"
NEWEST = kubernetes_validate.latest_version()
VERSIONS = ("1.29", NEWEST)  # the first that ends a sidecar with the job, and the newest


class Manifest(unittest.TestCase):
    def documents(self):
        documents = list(yaml.safe_load_all(MANIFEST.read_text()))
        self.assertEqual([d["kind"] for d in documents], ["Job"])
        return documents

    def test_it_is_valid(self):
        for version in VERSIONS:
            for document in self.documents():
                with self.subTest(version):
                    kubernetes_validate.validate(document, version, strict=True)

    def test_a_misspelt_key_is_found(self):
        for where, key in ((("spec", "template", "spec"), "initContainer"), (("spec",), "backofLimit")):
            wrong = copy.deepcopy(self.documents()[0])
            place = wrong
            for name in where:
                place = place[name]
            place[key] = 0
            with self.subTest(key), self.assertRaises(kubernetes_validate.ValidationError):
                kubernetes_validate.validate(wrong, NEWEST, strict=True)

    def test_both_containers_share_the_traces(self):
        pod = self.documents()[0]["spec"]["template"]["spec"]
        sidecar, job = pod["initContainers"][0], pod["containers"][0]
        self.assertEqual(sidecar["restartPolicy"], "Always")
        self.assertEqual(sidecar["volumeMounts"], job["volumeMounts"])
        self.assertIn(sidecar["command"][1], job["command"])  # the folder that is followed is the one that is written


if __name__ == "__main__":
    unittest.main()
