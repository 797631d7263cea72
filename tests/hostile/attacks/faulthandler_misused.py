# ruff: noqa
# outcome: no_result
# verdict: error
# points: 0
"""Has the fault handler write into the results and end the process with its own code."""

import faulthandler
import signal
import time

faulthandler.disable()
faulthandler.register(signal.SIGUSR1, file=3, all_threads=True)
signal.raise_signal(signal.SIGUSR1)
faulthandler.dump_traceback_later(0.3, exit=True, file=1)
time.sleep(60)
