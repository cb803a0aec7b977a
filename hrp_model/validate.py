"""placeholder"""
def validate(body, diagnostics):
    return None
