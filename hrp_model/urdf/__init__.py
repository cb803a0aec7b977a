"""placeholder"""
def body_to_urdf(body):
    return ""
