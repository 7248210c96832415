"""What authors write exercises with: a reference, inputs, properties and known mistakes.

``grade`` tries a learner's answer on the same inputs, the probes, and looks it up among the
mistakes.
"""

import inspect
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch

from attnbook.exercises.properties import cut_off
from attnbook.exercises.report import Report

GRADIENTS = "Gradients flow back to the inputs, so that models can learn."


@dataclass
class Property:
    """A sentence that holds for right answers, and the test that looks for a counterexample."""

    sentence: str
    # (function, *probe) -> None, or a sentence with numbers that contradicts it
    find_counterexample: Callable
    presupposes: bool = False  # that all else is right: what it finds may have another cause


@dataclass
class Trial:
    """The inputs of one seed, the right results, and those of the known mistakes by name."""

    probes: list[tuple]
    expected: list
    of_mistakes: dict[str, list] = field(default_factory=dict)  # outcomes in the sandbox


class Exercise:
    """A coding exercise: a reference, inputs to try it on, properties, and known mistakes.

    If it is ``differentiable``, gradients must flow back through an answer as they do through the
    reference, to every argument that is a tensor of floating-point numbers. If it asks for
    ``integers``, results must have an integer type.

    >>> double = Exercise("0.1", "Twice", hints=["What is x + x?"])
    >>> @double.solution
    ... def _(x):
    ...     return 2 * x
    >>> @double.inputs
    ... def _(generator):
    ...     yield (3.0,)
    >>> @double.mistake("the square")
    ... def _(x):
    ...     \"\"\"You multiply x by itself. That is right only for 2.\"\"\"
    ...     return x**2
    >>> double.trial(seed=0)
    Trial(probes=[(3.0,)], expected=[6.0], of_mistakes={})
    """

    def __init__(
        self,
        id: str,
        title: str,
        *,
        hints: Iterable[str],
        differentiable: bool = False,
        integers: bool = False,
    ) -> None:
        self.id, self.title, self.integers = id, title, integers
        self.hints = tuple(hints)
        self.reference: object = None
        self.mistakes: dict[str, object] = {}
        self.explanations: dict[str, str] = {}
        self.properties: list[Property] = []
        self._inputs: Callable[[torch.Generator], Iterable[tuple]] | None = None
        self._trials: dict[int, Trial] = {}  # by seed
        if differentiable:
            self.properties.append(Property(GRADIENTS, self._cut_off))

    def solution(self, function: Callable) -> Callable:
        """Decorator: the reference that every answer is compared with."""
        self.reference = function
        self._trials = {}
        return function

    def inputs(self, function: Callable) -> Callable:
        """Decorator: a generator function of argument tuples, the smallest first."""
        self._inputs = function
        self._trials = {}
        return function

    def holds(self, sentence: str, *, presupposes: bool = False) -> Callable:
        """Decorator: a test ``(f, *arguments)`` that returns None or what contradicts it.

        One or two are enough, those whose failure teaches most; inputs do the rest. A test that
        ``presupposes`` that all else is right is ignored once a mistake is recognised.
        """

        def add(function: Callable) -> Callable:
            self.properties.append(Property(sentence, function, presupposes))
            return function

        return add

    def mistake(self, name: str) -> Callable:
        """Decorator: a known wrong answer; its docstring says what was done and what it causes."""

        def add(function: Callable) -> Callable:
            self.mistakes[name] = function
            self.explanations[name] = " ".join((function.__doc__ or "").split())
            return function

        return add

    @property
    def arguments(self) -> list[str]:
        """The names of the arguments, as the chapter calls them."""
        return list(inspect.signature(self.reference).parameters)

    def probes(self, seed: int = 0) -> list[tuple]:
        """The inputs on which answers are compared; another seed gives fresh ones."""
        return list(self._inputs(torch.Generator().manual_seed(seed)))

    def trial(self, seed: int) -> Trial:
        """What a seed's answers are compared with; it is made once and never changes."""
        if seed not in self._trials:
            probes = self.probes(seed)
            self._trials[seed] = Trial(probes, [self.reference(*probe) for probe in probes])
        return self._trials[seed]

    def share(self, report: Report) -> float:
        """The share of its points that an answer earned, from 0 to 1.

        A right answer earns all; a wrong one up to half, in equal parts for the properties that
        hold.
        """
        if report.passed:
            return 1.0
        held = sum(item.sentence in report.holds for item in self.properties)
        return held / len(self.properties) / 2 if self.properties else 0.0

    def _cut_off(self, f: Callable, *probe: object, exact: bool = True) -> str | None:
        return cut_off(f, self.reference, self.arguments, probe, exact=exact)


class NumericAnswer(Exercise):
    """An exercise whose answer is a number the learner commits to before running the code."""

    def __init__(
        self, id: str, title: str, *, answer: float, within: float = 0.05, hints: Iterable[str]
    ) -> None:
        super().__init__(id, title, hints=hints)
        self.reference = answer
        self.within = within  # relative

    def wrong_value(self, name: str, value: float, explanation: str) -> None:
        """Add a known wrong answer and the two sentences that explain it."""
        self.mistakes[name] = value
        self.explanations[name] = explanation


class MultipleChoice(Exercise):
    """A choice among options: the learner commits to a letter.

    It is a prediction, made before the code is run, or asks what a ``figure`` shows.

    >>> spread = MultipleChoice(
    ...     "0.1", "Twice the terms", hints=["Add up the variances."],
    ...     answer="B", because="Variances add up, and the spread is their root.",
    ... )
    >>> spread.wrong_option("A", "everything doubles", "You add up spreads. Variances add up.")
    >>> spread.options
    ['A', 'B']
    """

    def __init__(
        self,
        id: str,
        title: str,
        *,
        answer: str,
        because: str,
        hints: Iterable[str],
        figure: bool = False,
    ) -> None:
        super().__init__(id, title, hints=hints)
        self.reference = answer
        self.because = because
        self.figure = figure

    def wrong_option(self, letter: str, name: str, explanation: str) -> None:
        """Add a wrong option: the misconception behind it, and what contradicts that."""
        self.mistakes[name] = letter
        self.explanations[name] = explanation

    @property
    def options(self) -> list[str]:
        """The letters to choose from, the right one among them."""
        return sorted([self.reference, *self.mistakes.values()])


class Repair(Exercise):
    """Code with one wrong line, which learners name, and then mend.

    ``check`` takes the number of the line, or the mended function, which is judged like any other
    answer. The code as it is handed out is one of the mistakes.

    >>> double = Repair("0.1", "Twice", line=1, because="It adds one x too many.", hints=[])
    >>> @double.broken
    ... def _(x):
    ...     \"\"\"The line still adds x twice. So the result is three times x.\"\"\"
    ...     return x + x + x
    >>> double.mistakes.keys()
    dict_keys(['nothing mended yet'])
    """

    NOT_MENDED = "nothing mended yet"

    def __init__(
        self,
        id: str,
        title: str,
        *,
        line: int,
        because: str,
        hints: Iterable[str],
        differentiable: bool = False,
        integers: bool = False,
    ) -> None:
        super().__init__(id, title, hints=hints, differentiable=differentiable, integers=integers)
        self.line, self.because = line, because
        self.right_lines: dict[int, str] = {}

    def broken(self, function: Callable) -> Callable:
        """Decorator: the code as learners get it; its docstring says what it still does wrong."""
        return self.mistake(self.NOT_MENDED)(function)

    def share(self, report: Report) -> float:
        """As for other exercises, but nothing for the code as it was handed out."""
        return 0.0 if report.diagnosis == self.NOT_MENDED else super().share(report)

    def right_line(self, number: int, explanation: str) -> None:
        """Say why a line is not the wrong one: what it does, and what shows that it is right."""
        self.right_lines[number] = explanation


class Construction(Exercise):
    """Something to find, such as weights, a sentence or a counterexample: many answers are right.

    An answer is one tensor of the given shape, as a tensor or in lists. A property (``holds``) is a
    test of the answer itself. A mistake is recognised by what it has in common with others of its
    kind.

    >>> sums = Construction("0.1", "Three from two", shape=(2,), hints=[])
    >>> sums.reference = torch.tensor([1.0, 2.0])
    >>> @sums.holds("The sum of the numbers is 3.")
    ... def _(numbers):
    ...     return None if numbers.sum() == 3 else f"It is {numbers.sum():g}."
    >>> @sums.wrong("nothing but zeros", example=[0.0, 0.0])
    ... def _(numbers):
    ...     \"\"\"Both of your numbers are 0. Their sum is then 0, too.\"\"\"
    ...     return not numbers.any()
    """

    def __init__(
        self, id: str, title: str, *, shape: tuple[int, ...], hints: Iterable[str]
    ) -> None:
        super().__init__(id, title, hints=hints)
        self.shape = shape
        self.recognises: dict[str, Callable] = {}

    def wrong(self, name: str, *, example: object) -> Callable:
        """Decorator: whether an answer shows a known mistake; the docstring explains it."""

        def add(function: Callable) -> Callable:
            self.recognises[name] = self.mistake(name)(function)
            self.mistakes[name] = example
            return function

        return add


@dataclass
class Suspect:
    """A function that claims to do what an exercise describes, and what it really does."""

    function: Callable
    does: str  # "loops over the sentences", to be read after its letter
    right: bool
    letter: str = ""  # "" if learners do not see it


@dataclass
class Verdict:
    """What a learner's test says about a suspect."""

    suspect: Suspect
    right: bool
    stopped: str = ""  # the error with which the suspect stopped inside the test


class Suspects(Exercise):
    """Functions that claim to do the same, and a test to write that tells right from wrong.

    The reference is such a test, and the mistakes are weak ones. The suspects get letters in their
    order, but those that are kept back have none, so that no list of letters is an answer. None
    may stop with an error where its inputs are as the text says, nor change them.

    >>> double = Suspects("0.1", "Twice", hints=["What do you expect of 3?"])
    >>> @double.right("adds x to itself")
    ... def _(x):
    ...     return x + x
    >>> @double.wrong("squares x")
    ... def _(x):
    ...     return x * x
    >>> @double.wrong("returns 4", kept_back=True)
    ... def _(x):
    ...     return 4
    >>> @double.solution
    ... def _(f):
    ...     return f(3) == 6
    >>> double.by_letter["B"](3)
    9
    """

    ACCEPTS = "A right function passes your test, in whatever style it is written."
    FINDS = "Your test finds each wrong one."

    def __init__(self, id: str, title: str, *, hints: Iterable[str]) -> None:
        super().__init__(id, title, hints=hints)
        self.suspects: list[Suspect] = []
        self.properties = [
            Property(self.ACCEPTS, self._accused),
            Property(self.FINDS, self._overlooked),
        ]

    def right(self, does: str, *, kept_back: bool = False) -> Callable:
        """Decorator: a right function, with what sets its style apart: "loops over the keys"."""
        return self._suspect(does, True, kept_back)

    def wrong(self, does: str, *, kept_back: bool = False) -> Callable:
        """Decorator: a wrong function, with what it does: "adds up the keys"."""
        return self._suspect(does, False, kept_back)

    def _suspect(self, does: str, right: bool, kept_back: bool) -> Callable:
        def add(function: Callable) -> Callable:
            letter = "" if kept_back else string.ascii_uppercase[len(self.by_letter)]
            function.__name__ = function.__qualname__ = letter or "f"
            self.suspects.append(Suspect(function, does, right, letter))
            return function

        return add

    @property
    def by_letter(self) -> dict[str, Callable]:
        """The suspects that learners see."""
        return {one.letter: one.function for one in self.suspects if one.letter}

    def _accused(self, verdicts: list[Verdict]) -> str | None:
        for one, stopped in ((v.suspect, v.stopped) for v in verdicts if not v.right):
            if one.right:
                which = one.letter or "a function that you have not seen"
                end = f" In your test, it stops: {stopped}" if stopped else ""
                return f"It accuses {which}, which is right. (It {one.does}.){end}"
        return None

    def _overlooked(self, verdicts: list[Verdict]) -> str | None:
        for one in (v.suspect for v in verdicts if v.right):
            if not one.right:
                which = one.letter or "a function that you have not seen"
                return f"It lets {which} pass, which {one.does}."
        return None
