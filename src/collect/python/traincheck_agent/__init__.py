# SPDX-License-Identifier: Apache-2.0
"""The policy of the agent: what is traced, what it is called, and when it is found."""
