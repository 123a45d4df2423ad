"""Small real tables for models of other libraries: numbers, counts, amounts and classes."""

import numpy as np
from sklearn.datasets import load_diabetes

_DIABETES = load_diabetes(as_frame=True)
FIT, AUDIT = slice(0, 300), slice(300, 380)
X = _DIABETES.data[["bmi", "bp", "s5", "age"]]
NUMBERS = _DIABETES.target.to_numpy(dtype=float)
COUNTS = np.floor(NUMBERS / 30)
AMOUNTS = NUMBERS / 100
AMOUNTS_OR_0 = np.where(NUMBERS < 75, 0.0, AMOUNTS)
BINARY = (NUMBERS > 140).astype(int)
THREE = np.digitize(NUMBERS, [100, 180])
TARGETS = {
    "numbers": NUMBERS,
    "counts": COUNTS,
    "amounts": AMOUNTS,
    "amounts or 0": AMOUNTS_OR_0,
    "binary": BINARY,
    "three": THREE,
}
