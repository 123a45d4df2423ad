"""What reports are made of: blocks of text, numbers and images, and how sections read a run."""
