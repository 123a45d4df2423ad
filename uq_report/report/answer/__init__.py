"""The answer of page 1: what the evidence supports, from tested sentences that never contradict each other."""
