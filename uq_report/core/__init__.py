"""What an audit is made of; no input or output, no plotting, no model library."""
