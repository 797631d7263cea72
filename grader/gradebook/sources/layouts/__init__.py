"""One file is one platform's layout of hand-ins, found by its name; none knows another.

A layout has a `NAME`, `looks_like(tree)`, which says from 0 to 1 how sure it is, and
`read(tree, wanted)`, which gives a Reading.
"""
