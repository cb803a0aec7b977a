def number_list(text: str, start: int, integer: bool) -> tuple[bytes, int] | None:
    """Convert the decimal numbers between white space, commas and comments up to a "]".

    Args:
        text: The text with the list.
        start: Offset of the first character after its opening bracket.
        integer: True for int32 (numbers out of range are clipped), False for float64.

    Returns:
        The numbers as the bytes of an array, and the offset of the "]"; None if the list
        contains anything else or has no end.
    """
