"""Where the data end: rows outside, unusual values, shift between training and audit."""
