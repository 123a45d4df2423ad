"""Outside data, validated once."""
