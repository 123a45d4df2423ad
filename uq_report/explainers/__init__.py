"""Methods of explanation: one file a method, each registered as an entry point."""
