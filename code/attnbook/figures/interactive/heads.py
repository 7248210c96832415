"""Two heads, stage by stage, with the numbers of one token."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.interactive.base import Interactive, finite, rounded, still_maps


def heads(
    x: Float[Tensor, "length d_model"],
    projections: Sequence[Float[Tensor, "d_model d_model"]],
    *,
    tokens: Sequence[str],
    jobs: Sequence[str],
    features: dict[str, int],
    gives: dict[str, int],
    asks: str,
    alt: str,
) -> Interactive:
    """The numbers of a token on their way through multi-head attention, in six stages.

    The reader steps from one stage to the next (project, split, weigh, average, join, multiply by
    W_O), and chooses the token, which is ``asks`` at first. It plays once, when it is seen.
    ``projections`` are W_Q, W_K, W_V and W_O; the columns of the first three belong to head 1 in
    their first half, and else to head 2. Scores are not divided by √d_k, so that small numbers
    suffice. ``jobs`` say in a few words what each head looks for, ``features`` how many columns of
    x are what, ``gives`` the same of the output, and ``alt`` what can be seen. Without scripts,
    the maps of both heads stand still.

    Raises ``ValueError`` if there are not two jobs, if the sizes do not match, if ``asks`` is not
    among the tokens, or if a number is not finite.
    """
    length, d_model = x.shape
    square = (d_model, d_model)
    if len(tokens) != length or [tuple(p.shape) for p in projections] != [square] * 4:
        raise ValueError(
            f"x of shape {tuple(x.shape)} needs {length} tokens and four projections of shape "
            f"{square}: got {len(tokens)} tokens and {[tuple(p.shape) for p in projections]}"
        )
    if {sum(features.values()), sum(gives.values())} != {d_model}:
        raise ValueError(f"features and gives need {d_model} columns: got {features} and {gives}")
    if len(jobs) != 2:
        raise ValueError(f"each of 2 heads has a job: got {list(jobs)}")
    if asks not in tokens:
        raise ValueError(f"asks must be one of the tokens {[*tokens]}: got {asks!r}")
    x, W_Q, W_K, W_V, W_O = finite(
        x=x, **dict(zip(("W_Q", "W_K", "W_V", "W_O"), projections, strict=True))
    )
    q, k, v = (x @ W for W in (W_Q, W_K, W_V))
    query, key, value = (one.unflatten(-1, (2, -1)).transpose(0, 1) for one in (q, k, v))
    weights = (query @ key.mT).softmax(dim=-1)  # (2, L, L)
    joined = torch.cat([*(weights @ value)], dim=-1)  # (L, d_model)
    still = still_maps(
        *((one, tokens, tokens, f"head {h}: {job}")
          for h, (one, job) in enumerate(zip(weights, jobs, strict=True), start=1))
    )  # fmt: skip
    rows = {"x": x, "q": q, "k": k, "v": v, "joined": joined, "output": joined @ W_O}
    data = {
        "tokens": list(tokens),
        "jobs": list(jobs),
        "features": features,
        "gives": gives,
        "W_O": rounded(W_O),
        "first": list(tokens).index(asks),
        "rows": {name: rounded(row) for name, row in rows.items()},
        "weights": rounded(weights),
    }
    return Interactive("heads", data, alt=alt, still=still)
