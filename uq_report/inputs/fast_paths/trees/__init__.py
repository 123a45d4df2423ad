"""Tree ensembles: the score of each row at every value of a feature, from one walk down each tree."""
