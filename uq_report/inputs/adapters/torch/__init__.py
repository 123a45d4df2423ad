"""Modules of torch and gpytorch."""
