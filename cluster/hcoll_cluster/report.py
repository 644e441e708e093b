# SPDX-License-Identifier: BSD-3-Clause
"""What went through each node's network interface during a run."""


def differences(names, before, after):
    return [{"node": name, **{what: after[i][what] - before[i][what] for what in before[i]}}
            for i, name in enumerate(names)]


def table(rows):
    head = ["node", "received bytes", "sent bytes", "received packets", "sent packets"]
    keys = ["received_bytes", "sent_bytes", "received_packets", "sent_packets"]
    lines = [head] + [[row["node"], *(f"{row[key]:,}" for key in keys)] for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join("  ".join([line[0].ljust(widths[0]), *(word.rjust(width) for word, width in zip(line[1:], widths[1:]))])
                     for line in lines)
