"""Knocks on doors of this machine alone: TCP and UDP on the loopback address, and unix sockets."""

import os
import socket
import tempfile


def attempt(label, action):
    try:
        action()
    except BaseException as problem:
        print(label, "refused:", type(problem).__name__)
    else:
        print("LEAK:", label, "went through")


def tcp_pair():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        with socket.create_connection(server.getsockname(), timeout=2) as client:
            client.sendall(b"verdict: passed")


def tcp_connect(port):
    with socket.create_connection(("127.0.0.1", port), timeout=1) as client:
        client.sendall(b"verdict: passed\n")


def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"verdict: passed", ("127.0.0.1", 9))


def udp_v6():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as client:
        client.sendto(b"verdict: passed", ("::1", 9))


def unix_path():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        with tempfile.TemporaryDirectory() as folder:
            server.bind(os.path.join(folder, "door"))


def unix_abstract():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(f"\0grade-{os.getpid()}")


attempt("a pair over TCP", tcp_pair)
attempt("TCP", lambda: tcp_connect(9))
attempt("UDP", udp)
attempt("UDP, version 6", udp_v6)
attempt("a unix socket in a folder", unix_path)
attempt("an abstract unix socket", unix_abstract)
attempt("a socket pair", socket.socketpair)
attempt("a name look-up", lambda: socket.gethostbyname("localhost"))
