"""A distribution laid over point predictions, from residuals of rows outside the fit."""
