"""A learner's portfolio: receipts of several exercises as one page and one zip, made and restored.

It grades nothing and changes no receipt; whatever it does not take is told to its caller.
"""
