"""Answers: the facts of a moment, a trace over them, its verdict, its bound, and what to acquire again.

`kb` asks here. Everything but the shelf of stored specs is pure: no store, no clock, no network.
"""
