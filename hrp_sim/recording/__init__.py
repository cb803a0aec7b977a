"""What is done with a recorded run: its robots over time, replay, pages."""
