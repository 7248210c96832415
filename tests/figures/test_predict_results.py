"""Results of predictions in a notebook: behind a switch for a person, open for commands."""

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = {
    "asks": "from attnbook.figures import interactive\n"
    'interactive.predict(options={"1": "No.", "2": "Yes."}, right="2");',
    "prints": '# answer\nprint("the <result>")',
    "returns": "# answer\n6 * 7",
    "table": '# answer\nfrom attnbook import figures\nfigures.table(["a", "n"], [["x", 1]])',
    "plot": "# answer\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    "fails": "# answer\nprint(1)\n1 / 0",
    "other": 'print("in the open")',
}


@pytest.fixture(scope="module")
def ran():
    """What each cell shows to a command, and to a person, whose program sends the cell's id."""

    def run(metadata):
        cells = [nbformat.v4.new_code_cell(source, id=id) for id, source in CELLS.items()]
        notebook = nbformat.v4.new_notebook(cells=cells)
        client = NotebookClient(notebook, kernel_name="python3", allow_errors=True)
        with client.setup_kernel():
            if metadata:
                send = client.kc.session.msg

                def with_id(kind, *arguments, **options):
                    message = send(kind, *arguments, **options)
                    message["metadata"] |= metadata if kind == "execute_request" else {}
                    return message

                client.kc.session.msg = with_id
            for place, cell in enumerate(cells):
                client.execute_cell(cell, place)
        return {cell.id: cell.outputs for cell in cells}

    return {"command": run({}), "person": run({"cellId": "x"})}


def shown(outputs):
    """The HTML of what a cell shows."""
    return "".join(output.get("data", {}).get("text/html", "") for output in outputs)


def test_a_command_stores_results_open(ran):
    [printed] = ran["command"]["prints"]
    assert printed.text == "the <result>\n"
    assert ran["command"]["returns"][0].data["text/plain"] == "42"
    assert "image/png" in ran["command"]["plot"][0].data
    assert not any("<details" in shown(outputs) for outputs in ran["command"].values())


@pytest.mark.parametrize(
    ("id", "part"),
    [
        ("prints", "<pre>the &lt;result&gt;\n</pre>"),
        ("returns", "<pre>42</pre>"),
        ("table", '<td style="text-align:right">1</td>'),
        ("plot", '<img alt="The result" src="data:image/png;base64,iVBOR'),
    ],
)
def test_a_person_opens_a_result(ran, id, part):
    [output] = ran["person"][id]
    html = output.data["text/html"]
    assert html.startswith("<details class=") and " open" not in html.partition(">")[0]
    assert "Predict first" in html.partition("</summary>")[0]
    assert part in html.partition("</summary>")[2].replace("\n</pre>", "\n</pre>")


def test_an_error_is_an_error_still_and_other_cells_stay_open(ran):
    assert [o.ename for o in ran["person"]["fails"] if o.output_type == "error"][-1:] == [
        "ZeroDivisionError"
    ]
    [printed] = ran["person"]["other"]
    assert printed.text == "in the open\n"
