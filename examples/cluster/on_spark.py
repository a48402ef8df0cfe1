# SPDX-License-Identifier: Apache-2.0
"""Learn from many traces with the executors of Spark: evidence of each partition, merged by a tree.

usage: spark-submit on_spark.py OUTPUT TRACE...         or python on_spark.py, with SPARK_MASTER as local[4]
"""
import os
import pathlib
import sys
import tempfile

from pyspark.sql import SparkSession

import libtraincheck

if __name__ == "__main__":
    output, *traces = sys.argv[1:]
    builder = SparkSession.builder.appName("traincheck")
    if "SPARK_MASTER" in os.environ:
        builder = builder.master(os.environ["SPARK_MASTER"])
    with builder.getOrCreate() as spark, tempfile.TemporaryDirectory() as folder:
        parts = spark.sparkContext.parallelize(traces, len(traces)).mapPartitions(
            lambda paths: [libtraincheck.evidence(list(paths))])
        evidence = pathlib.Path(folder, "all.tce")
        evidence.write_bytes(parts.treeReduce(lambda a, b: libtraincheck.merge([a, b])))
        print(libtraincheck.infer(evidence, output))
