"""Four lines and flash attention, tile by tile: what moves between two memories."""

from attnbook.figures import drawings
from attnbook.figures.interactive.base import Interactive


def memories(length: int, *, d: int, tile: int, size: int) -> Interactive:
    """What four lines and flash attention have moved between a fast and a slow memory, by tiles.

    In each step, both do the same arithmetic. Flash attention takes one tile of scores through all
    lines, and the four lines take three tiles through one line (scaling and softmax are one). The
    reader steps from tile to tile; it plays once. ``size`` is that of a number, in bytes.

    Raises ``ValueError`` unless tiles of d × d divide the length into 4 to 8 blocks.
    """
    still = drawings.memories(length, d=d, tile=tile, size=size)
    blocks, moved = length // tile, tile * d * size
    four, flash = 4 * blocks + 4 * blocks**2, 2 * blocks + 2 * blocks**2
    alt = (
        f"Attention to {length} tokens of {d} features, in tiles of {tile}, with numbers of {size} "
        "bytes. The four lines move scores and weights from the fast to the slow memory and back, "
        f"{four * moved / 1000:,.0f} kB in all. Flash attention moves none of them, but keys and "
        f"values {blocks} times, {flash * moved / 1000:,.0f} kB in all."
    )
    return Interactive("memories", {"blocks": blocks, "bytes": moved}, alt=alt, still=still)
