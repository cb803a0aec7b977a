def number_list(text: str, start: int, integer: bool) -> tuple[bytes, int] | None:
    """Convert the decimal numbers between white space, commas and comments up to a "]".

    Args:
        text: What holds the list.
        start: Offset of the first character after its opening bracket.
        integer: True for int32 (numbers out of range become the nearest), False for float64.

    Returns:
        The numbers as an array's bytes, and the offset of the "]"; None when the list
        holds anything else or has no end.
    """
