"""Runs against the clock: pace, lock-step, requests of other threads, health."""
