"""What the scripts of papers write: headings and figures."""

from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"


def heading(text):
    print(f"\n{text}\n{'=' * len(text)}")


def plot(draw, values, file_name):
    """Write a figure where matplotlib is installed."""
    try:
        import matplotlib
    except ImportError:
        print("\nno figure: matplotlib is not installed")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    RESULTS.mkdir(exist_ok=True)
    figure = draw(plt, values)
    figure.savefig(RESULTS / file_name, dpi=120)
    plt.close(figure)
    print(f"\nwritten: benchmarks/results/{file_name}")
