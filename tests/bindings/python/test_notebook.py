"""The notebook runs from its first cell to its last; what it claims it asserts itself."""
import importlib.util
import os

import pytest

NOTEBOOK = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..", "bindings",
                        "python", "examples", "does_not_fit.ipynb")
NEEDED = [each for each in ("nbformat", "nbclient", "ipykernel")
          if importlib.util.find_spec(each) is None]


@pytest.mark.skipif(bool(NEEDED), reason="not installed: " + ", ".join(NEEDED))
def test_the_notebook(tmp_path):
    import nbclient
    import nbformat
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit it without outputs"
    done = nbclient.NotebookClient(notebook, timeout=250, kernel_name="python3",
                                   resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [out for cell in done.cells for out in cell.get("outputs", ())]
    text = "".join(out.get("text", "") for out in shown)
    assert "peak" in text and "nothing more" in text, "the error is shown"
    pictures = [out["data"] for out in shown if "text/html" in out.get("data", {})]
    assert pictures, "the memory picture is HTML in a notebook"
    if importlib.util.find_spec("matplotlib") is not None:
        assert (tmp_path / "losses.png").stat().st_size > 1000
