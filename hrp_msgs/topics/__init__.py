"""Publishers and subscriptions of a robot, its sensors and its world."""
