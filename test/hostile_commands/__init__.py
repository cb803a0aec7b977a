"""Whole commands with hostile input: what each may do is bounded and checked the same way."""
