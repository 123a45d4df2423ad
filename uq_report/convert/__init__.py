"""Results become other libraries' own objects, so that their plots draw them."""
