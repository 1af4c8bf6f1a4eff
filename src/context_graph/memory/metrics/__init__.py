"""Measures a store (entropy, coherence, topics) and finds what somebody should review.

Start reading at `store_metrics`; `metrics` has the formulas, `review_tasks` and `insights` the findings,
`timings` the counters.
"""
