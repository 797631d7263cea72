# ruff: noqa
# outcome: blocked
# verdict: error
# points: 0
"""Knocks on every door of this machine: TCP, UDP, unix sockets, names, raw packets, netlink."""

import os
import socket
import stat
import urllib.request

WORLD = {}
tcp, udp = WORLD.get("tcp", 9), WORLD.get("udp", 9)


def attempt(label, action):
    try:
        action()
    except Exception:
        return
    print("LEAK:", label)


def unix(kind, address):
    with socket.socket(socket.AF_UNIX, kind) as client:
        client.connect(address)


def pour(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.sendto(b"passed", address)


attempt("tcp", lambda: socket.create_connection(("127.0.0.1", tcp), 1).close())
attempt("tcp by name", lambda: socket.create_connection(("localhost", tcp), 1).close())
attempt("http", lambda: urllib.request.urlopen(f"http://127.0.0.1:{tcp}/", timeout=1))
attempt("udp", lambda: pour(socket.AF_INET, ("127.0.0.1", udp)))
attempt("udp 6", lambda: pour(socket.AF_INET6, ("::1", udp)))
attempt("unix", lambda: unix(socket.SOCK_STREAM, WORLD.get("unix", "/nowhere")))
attempt("unix, unnamed", lambda: unix(socket.SOCK_STREAM, "\0passed"))
attempt("names", lambda: socket.getaddrinfo("localhost", 80))
attempt("reverse", lambda: socket.gethostbyaddr("127.0.0.1"))
attempt("listen", lambda: socket.create_server(("127.0.0.1", 0)).close())
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("pair", socket.socketpair)
for descriptor in range(1024):
    try:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            print("LEAK: an open socket", descriptor)
    except OSError:
        pass
socket.create_connection(("127.0.0.1", tcp))
