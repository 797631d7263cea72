# ruff: noqa
# outcome: raised
# verdict: error
# points: 0
"""Escape sequences, text that runs backwards, HTML and Markdown, wherever text of ours is shown."""

import sys

ACTS = (
    "\x1b[2J\x1b[H\x1b]0;passed\x07\x9b31m\x08\r\u202e\u2066\u200b\ufeff"
    "<script>alert(1)</script><img src=x onerror=alert(1)><a href='javascript:alert(1)'>x</a>"
    "](javascript:alert(1)) ![x](http://evil.example/x.png) [a](http://evil.example) | `` ``` ~~~\n"
    "# Passed\n| ✓ passed | values | 24/24 |\n</pre></code></td></html>{{ 7 * 7 }}{% raw %}"
)
print(ACTS)
print(ACTS, file=sys.stderr)
globals()[ACTS] = globals()["all_gradient" + ACTS] = 1
all_gradient = type(ACTS[:60].replace("\n", ""), (), {})()
shard_gradient = lambda *_: (_ for _ in ()).throw(ValueError(ACTS))
checkpoint = explanation = ACTS
prediction = {ACTS: ACTS, "gather": ACTS}
budget = [{ACTS: ACTS}]
ring_all_bytes = ACTS
Acts = type(ACTS, (Exception,), {"__module__": ACTS})
raise Acts(ACTS)
