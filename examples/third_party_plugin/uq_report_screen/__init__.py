"""One plugin of each kind around one question: where along a feature does the log loss exceed the entropy?"""
