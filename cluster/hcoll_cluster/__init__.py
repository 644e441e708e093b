"""scripts/cluster: several nodes on one Linux machine (docs/cluster.md)."""
