"""Shortcuts to predictions of changed rows, one file a structure of models.

Where a library has no door to a model's structure, names inside it are used. These are all of them; a test fails once a
version comes that they were not tried with. A run goes on: what is read by them is compared with the model itself.

======= ===== ========================================================== ============================= ===============
Library Below Where it stands                                            Name                          What for
======= ===== ========================================================== ============================= ===============
sklearn 1.10  sklearn.ensemble._hist_gradient_boosting.gradient_boosting _predictors                   `trees.path`
sklearn 1.10  sklearn.ensemble._hist_gradient_boosting.gradient_boosting _bin_mapper                   `trees.path`
sklearn 1.10  sklearn.ensemble._hist_gradient_boosting.gradient_boosting _preprocess_X                 `trees.path`
======= ===== ========================================================== ============================= ===============
"""
