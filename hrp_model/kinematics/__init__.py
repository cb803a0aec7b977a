"""placeholder"""
class BodyState:
    pass
