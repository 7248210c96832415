"""What models with one wrong line show: each differs from its mended self, for a reader to see."""

import matplotlib.pyplot as plt
import pytest
import torch

from attnbook import figures
from attnbook.exercises import Repair, catalogue
from attnbook.figures.symptoms import trained

REPAIRS = {exercise.id: exercise for exercise in catalogue() if isinstance(exercise, Repair)}


@pytest.mark.parametrize("id", REPAIRS)
def test_the_wrong_line_shows(id):
    wrong, mended = trained(id), trained(id, mended=True)
    ends = [sum(run.losses[-10:]) / 10 for run in (wrong, mended)]
    in_the_map = (wrong.weights - mended.weights).abs().max()
    assert abs(ends[0] - ends[1]) > 0.1 or in_the_map > 0.1, f"{ends}, {in_the_map}"
    if mended.against == "step":
        assert sum(mended.losses[-10:]) < sum(mended.losses[:10]), "mended, it does not learn"
    else:
        assert sum(mended.losses) < sum(wrong.losses), "mended, it is no better"


@pytest.mark.parametrize("id", REPAIRS)
def test_a_mended_answer_gets_the_grey_line(id):
    trained(id, mended=True)
    torch.manual_seed(1)  # whatever was drawn before
    figures.symptoms(id, REPAIRS[id].reference)
    axes = plt.gcf().axes
    grey, red = (line.get_ydata() for line in axes[0].lines)
    assert grey == pytest.approx(red)
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["mended", "your code"]


def test_an_exercise_without_a_model_to_mend_is_refused():
    with pytest.raises(KeyError, match=r"'2.2' has no model to mend: these have one, \['2.4'"):
        figures.symptoms("2.2")
