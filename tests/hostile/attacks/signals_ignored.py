# ruff: noqa
# outcome: cpu_limit
# verdict: error
# points: 2
# limits: cpu_s=2 wall_s=20
"""Blocks and ignores every signal, then computes for ever; what came before still counts."""

import signal

ring_all_bytes = 48
for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    pass
