# SPDX-License-Identifier: BSD-3-Clause
"""Commands on nodes: what a launcher uses in place of ssh, and the messages between it and a node.

usage: remote_shell.py [options as ssh has them] NODE COMMAND...

Each node listens on a socket of the folder HCOLL_CLUSTER_FOLDER, which all nodes see at the same place. A request is one
message of JSON; one to run a command carries standard input, output and error. The answer comes when the command has
ended; if the one who asked goes away before, the node ends the command.

This file imports little, since one process of it is started for each node of a job.
"""

import json
import os
import socket
import sys

MESSAGE_LIMIT = 1 << 20


def connect(folder, node):
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MESSAGE_LIMIT)
    channel.connect(os.path.join(folder, node))
    return channel


def send(channel, message, descriptors=()):
    socket.send_fds(channel, [json.dumps(message).encode()], list(descriptors))


def receive(channel):
    """(message, descriptors); the message is None at the end."""
    data, descriptors, _, _ = socket.recv_fds(channel, MESSAGE_LIMIT, 3)
    return (json.loads(data) if data else None), descriptors


def ask(folder, node, message):
    with connect(folder, node) as channel:
        send(channel, message)
        return receive(channel)[0]


def node_and_command(words):
    """What ssh would make of its command line; options that have a value are those that launchers use."""
    words = list(words)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-l", "-o", "-p", "-i") and words:
            words.pop(0)
    if len(words) < 2:
        raise SystemExit("usage: remote_shell.py [options] NODE COMMAND...")
    return words[0], " ".join(words[1:])


def main():
    node, command = node_and_command(sys.argv[1:])
    try:
        channel = connect(os.environ["HCOLL_CLUSTER_FOLDER"], node)
    except OSError as error:
        raise SystemExit(f"the cluster has no node {node} ({error.strerror})") from error
    request = {"run": ["/bin/sh", "-c", command], "folder": os.getcwd(), "job": os.environ.get("HCOLL_CLUSTER_JOB", "")}
    send(channel, request, (0, 1, 2))
    answer, _ = receive(channel)
    return answer["status"] if answer else 255


if __name__ == "__main__":
    sys.exit(main())
