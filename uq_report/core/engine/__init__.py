"""The only caller of the model: evaluator, fast paths, workers."""
