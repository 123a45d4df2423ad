"""What findings are made by: rules whose thresholds are data, and the checks that hold them."""
