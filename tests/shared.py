"""What several test files of the course share."""

import json

import nbformat


def as_colab_saves(notebook):
    """Colab writes an older format, keeps ids elsewhere, adds metadata and may drop unknown."""
    cells = []
    for i, cell in enumerate(notebook.cells):
        cell = json.loads(json.dumps(cell))
        del cell["id"]
        cell["metadata"] = {"id": f"aB3{i:09d}"}
        if cell["cell_type"] == "code":
            cell["metadata"]["outputId"] = "0f9a-4d"
            cell["metadata"]["colab"] = {"base_uri": "https://localhost:8080/"}
        cells.append(cell)
    metadata = {
        "colab": {"provenance": [], "toc_visible": True},
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
    }
    content = {"nbformat": 4, "nbformat_minor": 0}
    return nbformat.from_dict(content | {"metadata": metadata, "cells": cells})
