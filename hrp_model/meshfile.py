"""placeholder"""
def read_scene(path, reading):
    raise ValueError("placeholder")
