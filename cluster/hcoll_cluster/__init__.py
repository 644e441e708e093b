# SPDX-License-Identifier: BSD-3-Clause
"""scripts/cluster: several nodes on one Linux machine (docs/cluster.md)."""
