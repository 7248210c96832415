"""What comes with a trained translator of numbers: what it is, and how often it is right."""

import platform
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch

from attnbook.atomic_files import atomic_write
from attnbook.training.settings import DEFAULTS, NumberSettings
from attnbook.translator import Translator

CARD = """\
# A translator of numbers, {source} to {target}

```bash
{command}
```

made it: {parameters:,} parameters, {bytes:,} bytes in half precision{rounded}.
Batches of {batch} numbers below {below:,}, in words, for {steps} steps, as drawn by
`attnbook.data.NumberDataset` with the seed {seed}, and nothing else; {round_share:.0%} of them
are below 1,000 or divisible by 100 on purpose; {held_out}.

Of {tested:,} held-out numbers it writes {right:,} right, to the letter ({share:.2%}), by greedy
search, with the weights as they are in the file, `model.safetensors`. Python {python},
PyTorch {torch}, {machine}.

`config.json` has its sizes, `settings.json` how it was trained, `curve.json` loss and accuracy
during training. `attnbook.translator.Translator.load` reads the folder.
"""


def write_card(
    folder: Path,
    settings: NumberSettings,
    bits: int | None,
    test: Callable[[Translator], tuple[int, int]],
) -> None:
    """Write what the model is, what made it, and how often it is right on held-out numbers.

    ``bits`` is what the weights were rounded to, if they were. ``test`` tells how many held-out
    numbers a translator writes correctly, and of how many.
    """
    translator = Translator.load(folder)  # as whoever loads it has it, rounded
    right, tested = test(translator)
    defaults = asdict(DEFAULTS["numbers"])
    given = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in asdict(settings).items()
        if value != defaults[name]
    ]
    rounded = ""
    if bits is not None:
        given.append(f"--bits {bits}")
        rounded = f", rounded to {bits} bits and a power of two for each row"
    held_out = "about a tenth of them, chosen by a hash, was held out"
    if settings.longest is not None:
        held_out = f"all of more than {settings.longest} tokens were held out"
    card = CARD.format(
        **asdict(settings),
        command=" ".join(["python -m attnbook.train --task numbers", *given, f"--folder {folder}"]),
        parameters=sum(p.numel() for p in translator.model.parameters()),
        bytes=(folder / "model.safetensors").stat().st_size,
        rounded=rounded,
        held_out=held_out,
        right=right,
        tested=tested,
        share=right / tested,
        python=platform.python_version(),
        torch=torch.__version__,
        machine=platform.machine(),
    )
    atomic_write(folder / "README.md", card.encode())
