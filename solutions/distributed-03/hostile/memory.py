"""Allocates and touches memory until something gives; the bound is far above any sane limit."""

BLOCK = 2**24
hoard = []
for number in range(4096):  # 64 GiB
    hoard.append(bytearray(b"\xff") * BLOCK)
    if number % 16 == 0:
        print("holding", len(hoard) * BLOCK // 2**20, "MiB", flush=True)
