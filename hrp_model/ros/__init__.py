"""``model_node``: robot_description and TF of one robot."""
