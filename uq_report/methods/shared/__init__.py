"""What several methods use: grids, choices, terms of permutations, associations, wording."""
