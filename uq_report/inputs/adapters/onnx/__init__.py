"""Models in the ONNX format."""
