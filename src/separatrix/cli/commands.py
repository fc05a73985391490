"""The commands. Heavy imports wait until a command needs them."""

import shlex
import sys
import time
import warnings
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import typer

import separatrix
from separatrix.cli import Refusal

__all__ = ["app"]

app = typer.Typer(
    help="Clusters found by the boundary between them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
DEMO = (
    "cluster customers.csv --id-column customer --out labels.csv --report report.html"
    " --model model.skops",
    "predict new.csv model.skops --out new_labels.csv",
    "explain model.skops",
)
NAMES, FILE, N = ({"metavar": metavar} for metavar in ("A,B,..", "FILE", "N"))

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet or NPZ; - for standard input.")
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="File from `cluster --model`.")]
K = Annotated[int | None, typer.Option("-k", min=1, **N, help="Clusters; auto can choose.")]
Method = Annotated[str, typer.Option("-m", "--method", metavar="NAME", help="See `methods`.")]
Seed = Annotated[int, typer.Option(**N, help="The same seed gives the same labels.")]
Out = Annotated[
    str | None,
    typer.Option("-o", "--out", **FILE, help="Labels: .csv, .tsv, .parquet; - in a pipe."),
]
Report = Annotated[str | None, typer.Option(**FILE, help="Report: .html.")]
Columns = Annotated[
    str | None,
    typer.Option(**NAMES, help="Columns to use.", show_default="numbers and categories"),
]
IdColumn = Annotated[str | None, typer.Option(metavar="A", help="Column that names the rows.")]
Categorical = Annotated[str | None, typer.Option(**NAMES, help="Columns that hold categories.")]
Impute = Annotated[
    Literal["mean", "median", "most-frequent"] | None,
    typer.Option(help="Fill missing values: empty, NA, NaN, null, ?.", show_default="refuse them"),
]
Standardize = Annotated[bool, typer.Option(help="Give numbers mean 0 and variance 1.")]


def _destination(out):
    in_pipe = out is None and sys.stdout is not None and not sys.stdout.isatty()
    return "-" if in_pipe else out


@contextmanager
def _refusing(method):
    """Turn an estimator's refusal of its parameters or data into a line for the user."""
    try:
        yield
    except (ValueError, MemoryError) as error:
        raise Refusal(f"{method}: {error or 'out of memory'}") from error


def _fit(estimator, X, method):
    """Fit an estimator; seconds that took, and what it warned of."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, _refusing(method):
        warnings.simplefilter("always", UserWarning)
        estimator.fit(X)
    return time.perf_counter() - start, dict.fromkeys(str(one.message) for one in caught)


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
        seconds, notes = _fit(estimator, features.X, method)
        card = {"method": method, **features.card(estimator.labels_)}
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
        *((name, f"left out: {reason}") for name, reason in features.left_out.items()),
    ]
    _summarize(told, card["sizes"], paths)


@app.command()
def predict(data: Data, model: Model, out: Out = None, id_column: IdColumn = None):
    """Label the rows of another table by a saved model."""
    import numpy as np

    from separatrix.cli.columns import read_matrix
    from separatrix.cli.models import load_model
    from separatrix.cli.writing import Outputs, write_labels

    with Outputs(data, labels=_destination(out)) as outputs:
        pipeline, card = load_model(model)
        ids, matrix = read_matrix(data, card, id_column)
        with _refusing(card["method"]):
            labels = pipeline.predict(matrix)
        if outputs["labels"]:
            write_labels(outputs["labels"], ids, labels)
    sizes = np.bincount(labels, minlength=len(card["sizes"])).tolist()
    _summarize([(Path(data).name, f"{len(labels):,} rows")], sizes, {"labels": _destination(out)})


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
    from separatrix.consensus import agreement_words

    asked = {name: make_estimator(name, k, [], random_state) for name in listed(methods) or ()}
    with Outputs(data, report=report) as outputs, screens.progress(2) as step:
        step("reading")
        features = read_features(data, columns, id_column, categorical, impute, standardize)
        chosen = np.random.RandomState(random_state).permutation(len(features.X))[:rows]
        chosen.sort()
        with _refusing("compare"):
            comparison = separatrix.compare_clusterings(
                features.X[chosen],
                asked or None,
                n_clusters=k,
                random_state=random_state,
                on_candidate=lambda name, done, total: step(name, total + 1),
            )
        if report:
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
        _agreement(comparison.family_agreement, agreement_words(comparison.family_agreement)),
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
    screens.show(*screens.explained(pipeline[-1], card, top))


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
        typer.echo(f"\n$ separatrix {shlex.join(arguments)}")
        if code := app(arguments, standalone_mode=False):  # it was interrupted
            raise typer.Exit(code)
    typer.echo(f"\nTo see the report, open {(folder / 'report.html').resolve().as_uri()}")
