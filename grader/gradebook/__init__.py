"""Many submissions: take them in, grade them all, keep what came of it, give it back."""
