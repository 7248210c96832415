"""An example of each kind of interactive figure, pages to show them on, and how to read them.

The tests of a kind are in ``test_interactive_KIND.py``, those of what all kinds share in
``test_interactive.py``.
"""

import contextlib
import functools
import re

import pytest
import torch
from playwright.sync_api import expect

from attnbook.caches import CacheSizes, PublishedModel
from attnbook.figures import drawings, interactive

KEYS = torch.tensor([[1.0, 0.25], [-0.5, 1.0], [0.5, 0.75], [-1.0, -0.75]])
VALUES = torch.tensor([10.0, -20.0, 35.5, 4.0])
NAMES = ["cat", "dog", "<i>", "a name that is rather long"]
generator = torch.Generator().manual_seed(0)
QUERY = torch.randn(3, 64, generator=generator)
KEY = torch.randn(3, 8, 64, generator=generator)

torch.manual_seed(0)
WEIGHTS = torch.randn(2, 3, 5, 6, dtype=torch.float64).mul(2).softmax(dim=-1)
ROWS = ["she", "reads", "a", "book", "<b>"]
COLUMNS = ["sie", "liest", "<!--<script>", "Buch", "</script>", "."]
SCORES = torch.tensor([1.5, -0.25, 3.0, 3.0, -2.0, 0.5, 4.75])  # the largest grows twice
HANDED = torch.tensor([8.0, -16.0, 0.5, 2.0, 100.0, -6.0, 1.0])
LESSONS = {
    "source": "<i> liest ein Buch.",
    "reads": ["<start>", *ROWS[:-1]],
    "says": ROWS,
    "chances": torch.tensor([0.93, 0.004, 0.5, 0.75, 1.0]),
}
LIKELIEST = [[(token, 0.5 + 0.1 * t), ("second", 0.08)] for t, token in enumerate(ROWS)]
EMBEDDINGS, POSITIONS = torch.randn(2, 5, 4, dtype=torch.float64)
TOKENS = ["dog", "bites", "</script>", "today", "dog"]
REORDER = {  # a cycle of three words differs from its inverse
    "query": EMBEDDINGS[:3, :1],
    "key": EMBEDDINGS[[1, 4, 3], :1],
    "value": POSITIONS[:3, :2],
}
PAPER = [
    torch.tensor(matrix)
    for matrix in (
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 2.0]],  # x
        [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]],  # W_Q
        [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]],  # W_K
        [[3.0, 0.0], [1.0, 2.0]],  # W_V
    )
]
SENTENCE = ["so", "<b>", "so", "it", "</script>", "so"]
SAID = (torch.arange(24).view(4, 6) % 7 / 4 - 0.7)[[0, 1, 0, 2, 3, 0]]  # a word has one vector
BOOK = ["He", " reads", " the", " book", "</script>"]
OF_HEADS = (3 * torch.randn(3, 4, 5, 5, dtype=torch.float64)).tril()
OF_HEADS = OF_HEADS.masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(dim=-1)
OF_TWIN = OF_HEADS.clone()
OF_TWIN[..., 4, :] = OF_HEADS[..., 4, :].flip(-1)  # only the last token is different
TWIN = [*BOOK[:4], " today"]
ASKING = {
    "words": {"<i>": "Who?", "dog": "Whom?", "cat": "Whose?", "</script>": "<b>?"},
    "features": ["a", "b", "c"],
    "queries": torch.tensor([[3, 0, 3], [0, 4, 0], [4, 0, 2], [1, 4, 0]]),
    "keys": torch.tensor([[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]]),
    "hands": ["soft", "wet"],
    "values": torch.tensor([[5, 3], [0, 0], [1, 2], [0, 5]]),
}
ROLES = {
    "words": ["<i>", "dog", "cat", "</script>"],
    "x": torch.tensor([[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]]),
    "W_Q": torch.tensor([[3, 2], [0, 2], [1, 0]]),
    "W_K": torch.tensor([[0, 0], [1, 0], [0, 2]]),
    "W_V": torch.tensor([[0, 1], [2, 0], [3, 5]]),
    "features": ["pronoun", "noun", "<b>"],
    "labels": ["animal", "thing"],
    "hands": ["soft", "wet"],
}
TURNED = torch.tensor([[1.2, 0.5, 0.4, -1.1, 0.8, 1.0], [-0.7, 1.3, 0.9, 0.2, -0.5, -0.8]])
TURNS = {
    "W_Q": torch.tensor([[0.8, 0.6], [-0.6, 0.8]]),
    "W_K": torch.tensor([[0.8, -0.6], [0.6, 0.8]]),
}
STRANGE = ["so", "<b>", "cat", "and", "</script>", "its", "i", "x", "it"]
OF_WORDS = torch.randint(-3, 4, (4, 6), generator=torch.Generator().manual_seed(3)).float()
PROJECTIONS = [*torch.randn(4, 6, 6, generator=torch.Generator().manual_seed(4)) / 2]
INDUCTION = {
    "words": ["<i>", "a", "b", "a"],
    "notes": torch.tensor(
        [[1.0, 0, 0, 0], [0.9, 0.1, 0, 0], [0.05, 0.8, 0.15, 0], [0.1, 0.1, 0.7, 0.1]]
    ),
    "matches": torch.tensor(
        [[1.0, 0, 0, 0], [0.4, 0.6, 0, 0], [0.3, 0.2, 0.5, 0], [0.05, 0.15, 0.8, 0]]
    ),
}
FACT = {
    "tokens": ["The", "<i>", "is"],
    "chances": torch.tensor(
        [
            [[0.1, 0.7], [0.15, 0.65], [0.6, 0.01], [0.7, 0.0]],
            [[0.7, 0.0], [0.69, 0.01], [0.05, 0.9], [0.1, 0.75]],
        ]
    ),
    "head": (2, 5),
    "weight": 0.6,
    "moved": 0.5,
    "ranks": [2400, 1800, 20, 1],
    "guesses": [" ", "\n", " </script>", " Paris"],
    "answers": ("Paris", "<b>"),
    "other": "it",
}
OF_SHAPES = [
    torch.randn(size, generator=torch.Generator().manual_seed(9 + n))
    for n, size in enumerate([(6, 7), (7, 5), (7, 5), (7, 5)])
]
# flat enough for what is not stored to matter
PROMPTS = [2 * torch.randn(3000, generator=generator) for _ in range(3)]
CACHES = [
    PublishedModel(name=name, year=2025, source="https://a.test", sizes=CacheSizes(**sizes))
    for name, sizes in (
        (
            "</script>",
            {"heads": 8, "head_size": 16, "kv_heads": 2, "full": 3, "linear": 2, "state": 64},
        ),
        (
            "a <latent>",
            {
                "heads": 8,
                "head_size": 16,
                "kv_heads": 8,
                "full": 1,
                "windowed": 4,
                "window": 32,
                "latent": 40,
            },
        ),
    )
]
BLOCK = {  # a word that gets something from attention and the network, and one that gets nothing
    "stages": torch.tensor(
        [
            [[1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
            [[1.0, 0.25, 0.75, 0.0], [0.0, 0.5, 0.0, 0.0], [0.5, 0.0, 1.0, 0.0]],
            [[1.0, 0.25, 0.75, 1.5], [0.0, 0.5, 0.0, 0.0], [0.5, 0.0, 1.0, 0.25]],
        ]
    ),
    "weights": torch.tensor([[0.05, 0.2, 0.75], [0.3, 0.4, 0.3], [0.6, 0.2, 0.2]]),
    "fires": torch.tensor([[0.75, -0.5], [-1.0, 0.0], [-0.1, 0.25]]),
    "words": ["dog", "<i>", "bites"],
    "features": ["animal", "<b>", "biting", "hungry"],
    "questions": ["An animal that bites?", "A </p>?"],
}
FOUND = {  # near tokens and names
    "untouched": [[100.0, 95.0], [99.0, 60.0], [97.0, 30.0], [94.5, 19.0]],
    "interpolation": 4 * [[14.0, 83.0]],
    "<b>": 4 * [[81.0, 48.0]],
    "by parts": 4 * [[97.0, 78.0]],
}
TREE = [  # of a beam of two, the likeliest first
    [
        drawings.Beginning("auf", -1.8, 0, True, greedy=True),
        drawings.Beginning(",", -2.25, 0, True, best=True),
        drawings.Beginning("vor", -2.4, 0, False),
    ],
    [
        drawings.Beginning("<i>", -2.26, 1, True, best=True),
        drawings.Beginning("</script>", -3.1, 0, True, greedy=True),
        drawings.Beginning("eine", -3.4, 0, False),
        drawings.Beginning("wasserspielplatz", -9.0, 1, False),
    ],
]
FIGURES = {
    "predict": lambda: interactive.predict(
        options={"3 cm": "That is the mouse.", "</script>": "No `height`.", "60.8 cm": "The mean."},
        right="60.8 cm",
    ),
    "query": lambda: interactive.query(
        KEYS, VALUES, query=[0.8, 0.4], labels=NAMES, alt="Four keys."
    ),
    "all_heads": lambda: interactive.all_heads(
        (BOOK, OF_HEADS), (TWIN, OF_TWIN), link=(3, 1), alt="Twelve heads on two texts."
    ),
    "heads": lambda: interactive.heads(
        OF_WORDS,
        PROJECTIONS,
        tokens=["dog", "<i>", "</script>", "so"],
        jobs=["<b>", "others"],
        features={"role": 2, "<u>": 4},
        gives={"</b>": 1, "rest": 5},
        asks="<i>",
        alt="Two heads.",
    ),
    "path_of_a_fact": lambda: interactive.path_of_a_fact(**FACT),
    "roles": lambda: interactive.roles(**ROLES, asks="<i>", alt="Four words."),
    "sampling": lambda: interactive.sampling(
        {(1,): PROMPTS[0], (2, 3): PROMPTS[1], (1, PROMPTS[0].argmax().item()): PROMPTS[2]},
        decode=lambda tokens: "".join(map(" <{}>".format, tokens)),
        alt="Next tokens.",
    ),
    "softmax": lambda: interactive.softmax(
        torch.tensor([3.0, 1.5, 0.5]).log(), words=["cat", "<i>", "drank"], alt="Three words."
    ),
    "reorder": lambda: interactive.reorder(
        **REORDER,
        words=["dog", "<i>", "</script>"],
        asks=["dog", "<i>", "</script>"],
        order=[1, 2, 0],
    ),
    "rotary": lambda: interactive.rotary(
        *TURNED, tokens=STRANGE, asks=5, found=2, d_features=12, alt="Two arrows."
    ),
    "rivals": lambda: interactive.rivals(
        {
            "rotary": (98.0, 96.6),
            "like T5": (100.0, 100.0),
            "ALiBi": (100.0, 99.7),
            "sinusoids": (100.0, 4.0),
        },
        alt="Four curves.",
    ),
    "scale": lambda: interactive.scale(QUERY, KEY, alt="Eight weights."),
    "shapes": lambda: interactive.shapes(
        *OF_SHAPES,
        tokens=["cat", "<i>", "</script>", "drank", "so", "x"],
        length=4,
        d_k=3,
        entry=(1, 2),
        alt="Thirteen matrices.",
    ),
    "attention_map": lambda: interactive.attention_map(
        WEIGHTS, rows=ROWS, columns=COLUMNS, alt='Weights of "she" and four.'
    ),
    "decoding": lambda: interactive.decoding(
        WEIGHTS[0, 0],
        source=COLUMNS,
        written=ROWS,
        likeliest=LIKELIEST,
        alt="Five steps of a translation.",
    ),
    "online_softmax": lambda: interactive.online_softmax(SCORES, HANDED, alt="Seven scores."),
    "layer_norm": lambda: interactive.layer_norm(torch.tensor([3.0, 9.0, 11.0, 17.0])),
    "lessons": lambda: interactive.lessons(**LESSONS),
    "one_block": lambda: interactive.one_block(**BLOCK, asks=[0, 1]),
    "induction": lambda: interactive.induction(**INDUCTION),
    "looking_back": lambda: interactive.looking_back(
        torch.tensor([1.0, -1.0]),
        torch.tensor([[2.0, 0.0], [-1.0, 1.0], [-1.0, 2.0]]),
        tokens=["<i>", "-two", "END"],
    ),
    "memories": lambda: interactive.memories(320, d=64, tile=64, size=2),
    "one_head_or_two": lambda: interactive.one_head_or_two(
        ["dog", "bites", "<i>"], questions=["who?", "</p>?"], asks="Who bites, and <b>?"
    ),
    "permutation": lambda: interactive.permutation(
        EMBEDDINGS, tokens=TOKENS, positions=POSITIONS, order=range(5), alt="Five <outputs>."
    ),
    "beam": lambda: interactive.beam("… kniet", TREE, alt="A beam of two."),
    "caching": lambda: interactive.caching(["so", "<b>", "it", "</script>", "is"]),
    "cache": lambda: interactive.cache(CACHES, first="</script>", alt="Two caches."),
    "clocks": lambda: interactive.clocks(d_model=20, length=60, alt="Ten clocks."),
    "digits": lambda: interactive.digits(alt="Digits and waves."),
    "stretch": lambda: interactive.stretch(
        d_features=16, pairs=6, trained_length=32, alt="Six pairs in long texts."
    ),
    "waves": lambda: interactive.waves(SAID, tokens=SENTENCE, d_model=20, alt="Six waves."),
    "token": lambda: interactive.token(
        *PAPER, tokens=["the", "<i>", "</script>", "a name that is rather long"], alt="Four tokens."
    ),
    "transformer": lambda: interactive.transformer(),
    "turning": lambda: interactive.turning(torch.eye(2), **TURNS, words=["<i>", "</script>"]),
    "asking": lambda: interactive.asking(**ASKING, asks="cat", view="query", alt="Words."),
    "stack": lambda: interactive.stack(),
    "break_translator": lambda: interactive.break_translator(2003),
    "hero": lambda: interactive.hero(),
    "two_translators": lambda: interactive.two_translators(),
}


def ways():
    """Stretched positions with what a model finds in texts of four lengths."""
    sizes = {"d_features": 16, "pairs": (0, 2, 4), "trained_length": 32, "base": 200.0}
    return interactive.stretch(**sizes, right=FOUND, alt="Four ways.").to_html()


@functools.cache
def figure(kind):
    """The example of a kind; drawing its still picture takes a while."""
    return FIGURES[kind]()


def alive(kind):
    """The example as it is in a live notebook."""
    return figure(kind).to_html()


def _open_tab(context):
    """A page without a network, which notes what it asks for and complains of."""
    page = context.new_page()
    page.on("console", lambda m: page.trouble.append(m.text))
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    return page


# In its first frame a figure learns its size and draws itself, and with that its size changes: in
# the second it draws itself again, and what a test had found before is gone.
TWO_FRAMES = """() => new Promise(done =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"""


def _fill(page, body, *, width=800, scheme="light", motion="no-preference"):
    """Put HTML into a page that is empty."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion=motion)
    page.trouble, page.asked = [], []
    page.set_content(f"<!doctype html><html lang=en><title>x</title><main>{body}</main>")
    expect(page.locator('[aria-busy="true"]')).to_have_count(0)  # the translator writes at first
    page.evaluate(TWO_FRAMES)
    return page


_empty = []  # pages for the next test: a new one takes Chromium as long as many a test


@contextlib.contextmanager
def tabs(context):
    """A function that opens HTML in a page; each call takes another page."""
    shown = []

    def show(body, **options):
        shown.append(_empty.pop() if _empty else _open_tab(context))
        shown[-1].bring_to_front()  # in a tab that nobody sees, figures move once a second
        return _fill(shown[-1], body, **options)

    yield show
    for page in shown:
        page.mouse.move(0, 0)  # nothing is pointed at
        page.goto("about:blank")  # another document, which knows no figure
    _empty.extend(shown)


@pytest.fixture
def show(context):
    """Open HTML in a page of this test's own; a file takes it by ``show = examples.show``."""
    with tabs(context) as show:
        yield show


def numbers(place):
    """The table under a figure: its heading, and its rows of a heading and numbers."""
    details = place.locator("details:has(> .scroll)").first
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    details.locator("tr").first.wait_for()  # the table is made once it is opened
    table = details.evaluate(
        "d => [...d.querySelectorAll('tr')].map(row => [...row.cells].map(c => c.innerText))"
    )
    return table[0][1:], {row[0]: row[1:] for row in table[1:]}


def number(text):
    """A number that a figure shows, whose minus sign is a real one."""
    return float(text.replace("−", "-"))


def percent(share):
    """As a page writes it, with spaces that end no line; a small share is not called 0."""
    text = "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def values(place):
    """All numbers of the table."""
    rows = numbers(place)[1].values()
    return torch.tensor([[number(text) for text in row] for row in rows]).double()


def column(place, name):
    """The numbers of one column of the table; cells without any are left out."""
    heading, rows = numbers(place)
    texts = [row[heading.index(name)] for row in rows.values()]
    return torch.tensor([number(text) for text in texts if text]).double()


def said(page):
    """The sentence below a figure."""
    return page.locator(".said").inner_text()


def close(shown, right):
    """Whether the numbers shown, which have three digits, are the right ones."""
    return torch.allclose(shown.double(), right.double(), rtol=0, atol=1e-3)


def widths_of_bars(page):
    """How long each bar is, as a share of its room."""
    widths = page.locator(".bar").evaluate_all(
        "bars => bars.map(b => b.offsetWidth / b.parentNode.offsetWidth)"
    )
    return torch.tensor(widths)


def ribbons(page, selector):
    """How wide each ribbon is where it begins, and the x where its middle ends."""
    paths = page.locator(selector).evaluate_all("all => all.map(p => p.getAttribute('d'))")
    found = [list(map(float, re.findall(r"[-\d.e]+", path))) for path in paths]
    widths = [numbers[-2] - numbers[0] for numbers in found]
    ends = [(numbers[6] + numbers[8]) / 2 for numbers in found]
    return torch.tensor(widths).double(), torch.tensor(ends).double()


def press(page, *keys):
    """Press keys one after the other."""
    for key in keys:
        page.keyboard.press(key)


def swipe(page, start, move):
    """Move a finger from a point by (x, y) pixels, in eight steps; a tap moves by nothing."""
    touch = page.context.new_cdp_session(page)
    (x, y), (dx, dy) = start, move
    steps = [("touchMove", step / 8) for step in range(1, 9)] if dx or dy else []
    for kind, share in [("touchStart", 0), *steps, ("touchEnd", None)]:
        points = [] if share is None else [{"x": x + share * dx, "y": y + share * dy}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def fits(page):
    """Whether a page need not be scrolled sideways."""
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def strips(page):
    """The numbers of a row, of a column and of their products, and what is said of their sum."""
    rows = page.locator(".strip").evaluate_all(
        "all => all.map(row => [...row.querySelectorAll('text')].map(text => text.textContent))"
    )
    return [[number(text) for text in row[1:]] for row in rows[:3]], rows[3][0]


def table_of(page, selector):
    """The cells of a table as texts, row by row."""
    return page.locator(f"{selector} tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )
