"""Never comes back: computes for ever, and swallows what would interrupt it."""

import signal

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU, signal.SIGALRM):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass

count = 0
while True:
    try:
        count += 1
    except BaseException:
        continue
