"""What happens around an audit: history, verification, signing, schedules, mail, tracking, the overview."""
