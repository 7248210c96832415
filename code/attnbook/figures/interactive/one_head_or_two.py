"""A verb and its two nouns in two sentences: what one head hands over, and what two heads do."""

from collections.abc import Sequence

import torch

from attnbook.figures.interactive.base import Interactive, still_maps


def one_head_or_two(words: Sequence[str], *, questions: Sequence[str], asks: str) -> Interactive:
    """One head mixes two nouns, with weights that the reader sets; two heads bring one each.

    When the figure is seen, the nouns travel once to the boxes of what the verb gets. ``words``
    are a noun, a verb and a noun, and the second sentence swaps the nouns. ``questions`` say what
    each of two heads looks for, and ``asks`` says both. The still picture has the weights, those of
    one head equal.

    Raises ``ValueError`` if there are not three words and two questions.
    """
    if (len(words), len(questions)) != (3, 2):
        raise ValueError(
            f"needs 3 words and 2 questions: got {len(words)} words and {len(questions)} questions"
        )
    first, verb, second = words
    orders = [first, verb, second], [second, verb, first]
    said = (
        f"In {' '.join(order)}, one head gives {verb} ½ {order[0]} + ½ {order[2]}, and two heads "
        f"give {order[0]} ({questions[0]}) and {order[2]} ({questions[1]})."
        for order in orders
    )
    alt = f"{asks} {' '.join(said)} The mixture is the same both times, and the two words are not."
    weights = torch.tensor([[0.5, 0, 0.5], [1, 0, 0], [0, 0, 1]])
    still = still_maps(
        *((weights, ["one head", *questions], order, " ".join(order)) for order in orders)
    )
    data = {"words": list(words), "questions": list(questions), "asks": asks}
    return Interactive("one_head_or_two", data, alt=alt, still=still)
