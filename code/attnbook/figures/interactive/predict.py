"""A prediction: options to choose from, each of which says what is believed with it."""

from collections.abc import Mapping

from attnbook.exercises import MultipleChoice, catalogue
from attnbook.exercises.words import listed
from attnbook.figures.interactive.base import Interactive
from attnbook.figures.predict_results import fold_results


def predict(
    choice: str | None = None,
    *,
    options: Mapping[str, str] | None = None,
    right: str | None = None,
) -> Interactive:
    """The answers to a prediction as buttons, each of which says at once what it assumes.

    ``predict("2.0")`` asks the choice 2.0 of the catalogue: its options are letters, and what they
    stand for is the list in the text above. For any other question, ``options`` has the answers,
    each with the feedback to readers who choose it: the evidence against it or, for the answer that
    is ``right``, the reason. In JupyterLab, the result that decides is then behind a switch.

    >>> figure = predict(
    ...     options={
    ...         "the same": "A weighted mean of other tokens is a different vector.",
    ...         "a different one": "The weights depend on the other words of the sentence.",
    ...     },
    ...     right="a different one",
    ... )
    >>> figure.alt
    'Your prediction: the same or a different one?'

    Raises ``KeyError`` if the catalogue has no such choice, and ``ValueError`` if there are fewer
    than two options, or if ``right`` is none of them.
    """
    if choice is not None:
        answers, right = _from_catalogue(choice)
    else:
        answers = [
            {"text": text, "belief": "", "why": why} for text, why in (options or {}).items()
        ]
    texts = [answer["text"] for answer in answers]
    if len(texts) < 2 or right not in texts:
        raise ValueError(f"needs two or more options, one of them right: got {texts} and {right=}")
    fold_results()
    data = {"options": answers, "right": texts.index(right)}
    return Interactive("predict", data, alt=f"Your prediction: {listed(texts, last='or')}?")


def _from_catalogue(id: str) -> tuple[list[dict[str, str]], str]:
    """The options of a choice, and the letter of the right one."""
    choices = {
        item.id: item
        for item in catalogue()
        if isinstance(item, MultipleChoice) and not item.figure
    }
    if id not in choices:
        raise KeyError(f"no choice {id!r}; there are {', '.join(choices)}")
    choice = choices[id]
    beliefs = {letter: name for name, letter in choice.mistakes.items()}
    answers = []
    for letter in choice.options:
        belief = beliefs.get(letter, "")
        why = choice.explanations[belief] if belief else choice.because
        answers.append({"text": letter, "belief": belief, "why": why})
    return answers, choice.reference
