"""The commands. Heavy imports wait until a command needs them."""

import shlex
import sys
import time
import warnings
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import separatrix
from separatrix.cli import Refusal, one_line, printable

__all__ = ["run"]

app = typer.Typer(
    help="Clusters found by the boundary between them.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
UsageError: Any = typer.BadParameter.__base__  # of click, which typer may bring along
DEMO = (
    "cluster customers.csv --id-column customer --out labels.csv --report report.html"
    " --model model.skops",
    "predict new.csv model.skops --out new_labels.csv",
    "explain model.skops",
)
BROKEN = ArithmeticError, AttributeError, LookupError, TypeError  # in a model that was changed
NAMES, FILE, N = ({"metavar": metavar} for metavar in ("A,B,..", "FILE", "N"))

Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="CSV (, ; tab |), Parquet or NPZ; - for standard input."),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="File from `cluster --model`.")]
K = Annotated[int | None, typer.Option("-k", min=1, **N, help="Clusters; auto can choose.")]
Method = Annotated[str, typer.Option("-m", "--method", metavar="NAME", help="See `methods`.")]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, **N, help="The same seed gives the same labels.")
]
Out = Annotated[
    str | None,
    typer.Option("-o", "--out", **FILE, help="Labels: .csv, .tsv, .parquet; - in a pipe."),
]
Report = Annotated[str | None, typer.Option(**FILE, help="Report: .html.")]
Columns = Annotated[
    str | None,
    typer.Option(**NAMES, help="Columns to use.", show_default="numbers and categories"),
]
IdColumn = Annotated[
    str | None, typer.Option(metavar="A", help="Column that names the rows, kept as it is.")
]
Categorical = Annotated[
    str | None, typer.Option(**NAMES, help="Columns to take as categories, numbers too.")
]
Impute = Annotated[
    Literal["mean", "median", "most-frequent"] | None,
    typer.Option(
        help="Fill missing values: empty, NA, N/A, NaN, null, None, ?.", show_default="refuse them"
    ),
]
Standardize = Annotated[bool, typer.Option(help="Give numbers mean 0 and variance 1.")]


def run(arguments):
    """Run a command; its exit code."""
    try:
        return app(arguments or ["--help"], prog_name="separatrix", standalone_mode=False) or 0
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "separatrix"
        raise Refusal(f"{error.format_message().rstrip('.')}; see {command} --help") from error


@app.callback(invoke_without_command=True)
def _about(version: Annotated[bool, typer.Option("--version", help="Tell it.")] = False):
    if version:
        typer.echo(f"separatrix {separatrix.__version__}")
        raise typer.Exit


def _destination(out):
    in_pipe = out is None and sys.stdout is not None and not sys.stdout.isatty()
    return "-" if in_pipe else out


@contextmanager
def _refusing(name, *errors):
    """Turn an estimator's refusal of its parameters or data into a line for the user."""
    try:
        yield
    except (ValueError, MemoryError, *errors) as error:
        raise Refusal(f"{name}: {error or type(error).__name__}") from error


@contextmanager
def _noting():
    """Messages of the warnings that the work gives, each once."""
    notes: dict[str, None] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    notes.update(dict.fromkeys(one_line(one.message) for one in caught))


def _left_out(features):
    return [(name, f"left out: {reason}") for name, reason in features.left_out.items()]


def _described(features):
    n_texts = sum(categories is not None for categories in features.columns.values())
    counts = {"numeric": len(features.columns) - n_texts, "categorical": n_texts}
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    made = f" · {len(features.names)} features" if n_texts else ""
    return Path(features.name).name, f"{len(features.X):,} rows · {kinds}{made}"


def _agreement(agreement, words):
    is_known = agreement is not None and agreement == agreement
    return "agreement", f"{agreement:.2f}, {words}" if is_known else words


def _summarize(facts, sizes, paths):
    """Show on standard error what was found and where it is."""
    from separatrix.cli import screens

    hint = "not written: pass --out"
    where = [(kind, hint if path is None else path) for kind, path in paths.items() if path != "-"]
    screens.show(screens.facts(*facts, *where), screens.sizes(sizes), stderr=True)


@app.command()
def cluster(
    data: Data,
    k: K = None,
    method: Method = "auto",
    out: Out = None,
    report: Report = None,
    model: Annotated[str | None, typer.Option(**FILE, help="Model to predict by: .skops.")] = None,
    columns: Columns = None,
    id_column: IdColumn = None,
    categorical: Categorical = None,
    impute: Impute = None,
    standardize: Standardize = True,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Parameter; repeat.")
    ] = None,
    random_state: Seed = 0,
):
    """Find clusters in a table; write labels, a report and a model."""
    from sklearn.pipeline import Pipeline

    from separatrix.cli import screens
    from separatrix.cli.columns import read_features
    from separatrix.cli.methods import make_estimator
    from separatrix.cli.writing import Outputs, write_labels

    estimator = make_estimator(method, k, settings or [], random_state)
    paths = {"labels": _destination(out), "report": report or "", "model": model or ""}
    with Outputs(data, **paths) as outputs, screens.progress(4) as step:
        step("reading")
        features = read_features(data, columns, id_column, categorical, impute, standardize)
        step(method)
        start = time.perf_counter()
        with _noting() as notes, _refusing(method):
            estimator.fit(features.X)
        seconds = time.perf_counter() - start
        card = features.card(estimator.labels_)
        steps = {"encode": features.encoder, "standardize": features.scaler, method: estimator}
        pipeline = Pipeline(list(steps.items()))
        if report:
            step("report")
            with _refusing("report"):
                separatrix.write_report(
                    pipeline[1:],
                    features.values,
                    outputs["report"],
                    feature_names=features.names,
                    row_names=features.row_names,
                    title=f"Clusters of {Path(features.name).name}",
                    model_path=model or "model.skops",
                )
        if model:
            from separatrix.cli.models import save_model

            step("model")
            save_model(outputs["model"], pipeline, card)
        if outputs["labels"]:
            confidence = getattr(estimator, "confidence_", None)
            write_labels(outputs["labels"], features.ids, estimator.labels_, confidence)
    found = len(card["sizes"])
    others = getattr(estimator, "plausible_n_clusters_", ())[1:]
    doubt = f", {' or '.join(map(str, others))} are as plausible" if others else ""
    told = [
        _described(features),
        (method, f"{found} cluster{'s' * (found > 1)} in {seconds:.1f} s{doubt}"),
        _agreement(*(getattr(estimator, of, None) for of in ("agreement_", "agreement_words_"))),
        *(("note", note) for note in notes),
        *_left_out(features),
    ]
    _summarize(told, card["sizes"], paths)


@app.command()
def predict(data: Data, model: Model, out: Out = None, id_column: IdColumn = None):
    """Label the rows of another table by a saved model."""
    import numpy as np

    from separatrix.cli import screens
    from separatrix.cli.columns import read_matrix
    from separatrix.cli.models import load_model
    from separatrix.cli.writing import Outputs, write_labels

    paths = {"labels": _destination(out)}
    with Outputs(data, model, **paths) as outputs, screens.progress(3) as step:
        step("model")
        pipeline, card = load_model(model)
        step("reading")
        ids, matrix = read_matrix(data, card, id_column)
        step(card["method"])
        with _noting() as notes, _refusing(model, *BROKEN):
            labels = pipeline.predict(matrix)
            sizes = np.bincount(labels, minlength=len(card["sizes"])).tolist()
        if outputs["labels"]:
            write_labels(outputs["labels"], ids, labels)
    name = "standard input" if data == "-" else Path(data).name
    told = [(name, f"{len(labels):,} rows"), *(("note", note) for note in notes)]
    _summarize(told, sizes, paths)


@app.command()
def compare(
    data: Data,
    k: Annotated[int, typer.Option("-k", min=2, **N, help="Clusters.")],
    methods: Annotated[
        str | None, typer.Option(**NAMES, help="See `methods`.", show_default="those of auto")
    ] = None,
    rows: Annotated[int, typer.Option(min=3, **N, help="Most rows to use, by chance.")] = 2000,
    report: Report = None,
    columns: Columns = None,
    id_column: IdColumn = None,
    categorical: Categorical = None,
    impute: Impute = None,
    standardize: Standardize = True,
    random_state: Seed = 0,
):
    """Run several methods on a table; show how good their clusters are, the best first."""
    import numpy as np

    from separatrix.cli import screens
    from separatrix.cli.columns import listed, read_features
    from separatrix.cli.methods import make_estimator
    from separatrix.cli.writing import Outputs

    if report == "-":
        raise Refusal("--report -: standard output shows the comparison; name a file")
    asked = {name: make_estimator(name, k, [], random_state) for name in listed(methods) or ()}
    with Outputs(data, report=report) as outputs, screens.progress(2) as step:
        step("reading")
        features = read_features(data, columns, id_column, categorical, impute, standardize)
        with _refusing("compare"):
            chosen = np.random.RandomState(random_state).permutation(len(features.X))[:rows]
            chosen.sort()
            comparison = separatrix.compare_clusterings(
                features.X[chosen],
                asked or None,
                n_clusters=k,
                random_state=random_state,
                on_candidate=lambda name, done, total: step(name, total + 1),
            )
        if report:
            with _refusing("report"):
                separatrix.write_report(
                    comparison,
                    features.X[chosen],
                    outputs["report"],
                    feature_names=features.names,
                    row_names=features.row_names[chosen],
                    title=f"Clusterings of {Path(features.name).name}",
                )
    told = [
        _described(features),
        ("compared", f"{rows:,} of them, by chance" if len(features.X) > rows else None),
        _agreement(comparison.family_agreement, comparison.agreement_words),
        *_left_out(features),
        ("report", report),
    ]
    screens.show(screens.facts(*told), *screens.compared(comparison))


@app.command()
def explain(
    model: Model, top: Annotated[int, typer.Option(min=1, **N, help="Features to show.")] = 8
):
    """Show the weights of a linear model, or the features that differ most between clusters."""
    from separatrix.cli import screens
    from separatrix.cli.models import load_model

    pipeline, card = load_model(model)
    with _refusing(model, *BROKEN):
        explained = screens.explained(pipeline[-1], card, top)
    screens.show(*explained)


@app.command("methods")
def list_methods():
    """List the methods."""
    from separatrix.cli import screens
    from separatrix.cli.methods import methods

    rows = [(name, found.__doc__.split("\n")[0]) for name, found in methods().items()]
    screens.show(screens.facts(*rows))


@app.command()
def demo(
    to: Annotated[str, typer.Option(metavar="FOLDER", help="Where to write.")] = "separatrix-demo",
):
    """Run cluster, predict and explain on a made-up table of 300 customers."""
    bundled = (files("separatrix.cli") / "data" / "customers.csv").read_text(encoding="utf-8")
    header, *rows = bundled.splitlines(keepends=True)
    # the last 50 come later, as customers that the model has not seen
    texts = {
        "new.csv": header + "".join(rows[-50:]),
        "customers.csv": header + "".join(rows[:-50]),
    }
    folder = Path(to)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            path = folder / name
            if any(folder.iterdir()) and not (path.exists() and path.read_text("utf-8") == text):
                raise Refusal(f"{to}: holds other files; name another folder by --to")
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refusal(f"{to}: cannot be written: {error.strerror}") from error
    for command in DEMO:
        arguments = [str(folder / word) if "." in word else word for word in command.split()]
        typer.echo(f"\n$ separatrix {printable(shlex.join(arguments))}")
        if code := app(arguments, standalone_mode=False):  # it was interrupted
            raise typer.Exit(code)
    typer.echo(f"\nTo see the report, open {(folder / 'report.html').resolve().as_uri()}")
