"""What happens around an audit: history, verification, signing, schedules, hooks, tracking, the overview."""
