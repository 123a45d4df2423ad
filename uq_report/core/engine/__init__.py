"""The only caller of the model: evaluator, batching, fast paths, workers."""
