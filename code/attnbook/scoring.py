"""How good are translations? BLEU, counted in the two ways that papers count it.

    python -m attnbook.scoring                       the translator that comes with the package
    python -m attnbook.scoring --folder runs/multi30k

Needs ``pip install "attnbook[score]"``; the sentences of Multi30k are downloaded, or read from the
folder ATTNBOOK_MULTI30K.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from sacrebleu.metrics import BLEU
from sacremoses import MosesPunctNormalizer, MosesTokenizer
from tqdm.auto import tqdm

from attnbook.atomic_files import atomic_write
from attnbook.data import Multi30k
from attnbook.translator import ENGLISH_TO_GERMAN, Translator

TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
PARTS = ("val", *TESTS)  # what is chosen is chosen on val


def bleu(
    translations: Sequence[str], references: Sequence[str], language: str
) -> dict[str, float | str]:
    """BLEU of translations into a language, in per cent, ignoring case.

    ``tokenised`` is the number that papers on Multi30k report, from the script multi-bleu.perl:
    both sides are lower-cased and cut into words as Moses does. ``sacrebleu`` is SacreBLEU's own,
    which cuts the words itself, and ``signature`` says exactly how. The two may differ.
    ``interval`` is half the width of the first one's 95 % interval, from 1000 draws of the
    sentences with replacement (Koehn 2004, https://aclanthology.org/W04-3250/).

    Raises ``ValueError`` if there are more or fewer translations than references, or none.
    Sources: Papineni et al. 2002, https://aclanthology.org/P02-1040/; Post 2018,
    https://arxiv.org/abs/1804.08771.
    """
    if len(translations) != len(references) or not references:
        raise ValueError(
            "every translation needs one reference: "
            f"got {len(translations)} translations and {len(references)} references"
        )
    normaliser = MosesPunctNormalizer(lang=language)
    tokeniser = MosesTokenizer(lang=language)

    def words(text: str) -> str:
        text = normaliser.normalize(text.lower())
        return tokeniser.tokenize(text, return_str=True, escape=False)

    as_moses = BLEU(tokenize="none", smooth_method="none", force=True)
    own = BLEU(lowercase=True)
    cut = [words(text) for text in translations], [[words(text) for text in references]]
    tokenised = as_moses.corpus_score(*cut, n_bootstrap=1000)
    said = json.loads(tokenised.format(is_json=True, signature=str(as_moses.get_signature())))
    return {
        "tokenised": said["score"],
        "interval": said.get("confidence_var", 0.0),  # missing if all draws score 0
        "sacrebleu": round(own.corpus_score(translations, [references]).score, 2),
        "signature": str(own.get_signature()),
    }


def scores(translator: Translator, *, beam_size: int = 5) -> dict[str, dict]:
    """BLEU of a translator from English to German on Multi30k, greedy and with a beam.

    The validation part comes first, then the test sets.

    The exponent of the length penalty is 1: log-probabilities are divided nearly by the length.
    """
    result = {}
    for part in tqdm(PARTS, unit="part", disable=None):
        sources, references = zip(*Multi30k("en", "de").texts(part), strict=True)
        result[part] = {
            name: bleu(
                translator.translate(sources, beam_size=size, length_penalty=1.0), references, "de"
            )
            for name, size in (("greedy", 1), (f"beam {beam_size}", beam_size))
        }
    return result


def main(arguments: list[str] | None = None) -> None:
    """Score a translator and write the result beside it, into scores.json."""
    command = argparse.ArgumentParser(
        prog="python -m attnbook.scoring",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "--folder", type=Path, default=ENGLISH_TO_GERMAN, help="folder of the translator"
    )
    options = command.parse_args(arguments)
    try:
        translator = Translator.load(options.folder)
    except (ValueError, OSError) as error:
        command.error(str(error))
    try:
        keep_scores(options.folder, scores(translator))
    except OSError as error:  # no sentences, no room
        command.exit(1, f"{command.prog}: {error}\n")


def keep_scores(folder: Path, result: dict[str, dict]) -> None:
    """Print scores and write them to the translator's folder."""
    for part, searches in result.items():
        for search, score in searches.items():
            print(
                f"{part:17s} {search:7s} BLEU {score['tokenised']:.2f} ± {score['interval']:.2f} "
                "tokenised, "
                f"{score['sacrebleu']:.2f} sacreBLEU ({score['signature']})"
            )
    text = json.dumps(result, indent=2) + "\n"
    atomic_write(folder / "scores.json", text.encode())


if __name__ == "__main__":
    main()
