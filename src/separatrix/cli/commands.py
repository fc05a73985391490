"""The commands. Heavy imports wait until a command needs them."""

import shlex
import sys
import time
import warnings
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import typer

import separatrix
from separatrix.cli import Refusal, listed, one_line, printable

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
MOST_TOLD = 6  # columns named in one line
COUNTED_ROWS = 1_000_000  # at a time
BROKEN = ArithmeticError, AttributeError, LookupError, TypeError  # in a model that was changed
NAMES, FILE, N = ({"metavar": metavar} for metavar in ("A,B,..", "FILE", "N"))

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV (, ; tab |), Excel, Parquet, JSON lines, SQLite or NPZ; - for standard input.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="File from `cluster --model`.")]
K = Annotated[
    int | None, typer.Option("-k", min=1, **N, help="Number of clusters; auto can choose it.")
]
Method = Annotated[str, typer.Option("-m", "--method", metavar="NAME", help="One of `methods`.")]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, **N, help="The same seed gives the same labels.")
]
Out = Annotated[
    str | None,
    typer.Option(
        "-o", "--out", **FILE, help="Table with labels: .csv, .tsv, .parquet; - for a pipe."
    ),
]
LabelsOnly = Annotated[bool, typer.Option("--labels-only", help="Write only ids and labels.")]
Report = Annotated[str | None, typer.Option(**FILE, help="Report to write: .html.")]
Columns = Annotated[
    str | None,
    typer.Option(**NAMES, help="Columns to use.", show_default="numbers and categories"),
]
Drop = Annotated[str | None, typer.Option(**NAMES, help="Columns to leave out.")]
Keep = Annotated[
    str | None, typer.Option(**NAMES, help="Columns to use although they look useless.")
]
IdColumn = Annotated[
    str | None, typer.Option(metavar="A", help="Column that names the rows; kept unchanged.")
]
Truth = Annotated[
    str | None, typer.Option(metavar="A", help="Column to leave out and to compare clusters with.")
]
Categorical = Annotated[
    str | None, typer.Option(**NAMES, help="Columns to treat as categories, even numbers.")
]
Impute = Annotated[
    Literal["median", "mean", "most-frequent", "none"],
    typer.Option(
        help="Fill missing values (empty, NA, N/A, NaN, null, None, ?); none refuses them."
    ),
]
Missing = Annotated[
    str | None, typer.Option(**NAMES, help="More words for missing values in a text file.")
]
Standardize = Annotated[bool, typer.Option(help="Give all columns the same weight.")]
Decimal = Annotated[Literal[".", ","] | None, typer.Option(help="Decimal sign of numbers.")]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoding of a text file.", show_default="a guess"),
]
Sheet = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sheet of Excel, table of SQLite.", show_default="first"),
]
Header = Annotated[
    bool, typer.Option("--header/--no-header", help="Column names are in the first line.")
]


def run(arguments):
    """Run a command; its exit code."""
    try:
        return app(arguments or ["--help"], prog_name="separatrix", standalone_mode=False) or 0
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "separatrix"
        raise Refusal(f"{error.format_message().rstrip('.')}; see {command} --help") from error


@app.callback(invoke_without_command=True)
def _about(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False):
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


def _described(features):
    name = Path(features.table.name).name
    kinds = [type(made).__name__ for made in features.preparer.features_]
    counts = {
        kind: kinds.count(of)
        for kind, of in (
            ("numeric", "NumberFeatures"),
            ("categorical", "CategoryFeatures"),
            ("dated", "DateFeatures"),
        )
    }
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    made = f" · {len(features.names)} features" if len(features.names) > len(kinds) else ""
    return name, f"{features.all_rows.shape[0]:,} rows · {told}{made}"


def _noticed(features):
    """What the reader should know about the columns: those left out, and how many are filled."""
    from separatrix.tables.findings import OVERRULED

    found = features.findings
    told = [*features.table.facts]
    left_out = [one for one in found if one.left_out]
    told += [("left out", f"{one.column}: {one.text}") for one in left_out[:MOST_TOLD]]
    if len(left_out) > MOST_TOLD:
        others = ", ".join(one.column for one in left_out[MOST_TOLD:])
        told.append(("left out", f"{len(left_out) - MOST_TOLD} more: {others:.200}"))
    if any(one.kind in OVERRULED for one in left_out):
        told.append(("", "--keep NAME uses such a column all the same"))
    filled = sorted((one for one in found if one.n_missing), key=lambda one: -one.n_missing)
    if filled:
        counts = [f"{one.column} {one.n_missing:,}" for one in filled[:MOST_TOLD]]
        if len(filled) > MOST_TOLD:
            counts.append(f"and in {len(filled) - MOST_TOLD} more")
        n_filled = sum(one.n_missing for one in filled)
        values = "missing value" if n_filled == 1 else "missing values"
        told.append(("filled", f"{n_filled:,} {values}: {', '.join(counts)}"))
    n_used = len(features.preparer.features_)
    if features.preparer.scaler_ is not None and n_used > 1:
        told.append(("scaled", f"{n_used} columns, to the same weight"))
    return told


def _warned(features, labels):
    """Warning if one column determines the clusters by itself."""
    return [
        (
            "warning",
            f"{one.column}: {one.text}; --drop {shlex.quote(one.column)} shows what else there is",
        )
        for one in features.findings_of(labels)
    ]


def _sizes(labels, n_clusters=0):
    """Rows in each cluster. Some are counted at a time, as counting makes copies of labels."""
    import numpy as np

    sizes = np.zeros(max(n_clusters, int(labels.max(initial=-1)) + 1), dtype=np.int64)
    for start in range(0, len(labels), COUNTED_ROWS):
        some = labels[start : start + COUNTED_ROWS]
        sizes += np.bincount(some[some >= 0], minlength=len(sizes))
    return sizes.tolist()


def _outliers(labels):
    """How many rows belong to no cluster, if any."""
    count = int((labels < 0).sum())
    rows = "row belongs" if count == 1 else "rows belong"
    return "outliers", f"{count:,} {rows} to no cluster: label -1" if count else ""


def _agreement(agreement, words):
    is_known = agreement is not None and agreement == agreement
    return "agreement", f"{agreement:.2f}, {words}" if is_known else words


def _summarize(facts, sizes, paths, *more, typical=()):
    """Show on standard error what was found and where it is."""
    from separatrix.cli import screens

    hint = "not written: pass --out"
    where = [(kind, hint if path is None else path) for kind, path in paths.items() if path != "-"]
    bars = screens.sizes(sizes, typical)
    screens.show(screens.facts(*facts, *where), bars, *more, stderr=True)


def _read(data, options, categorical, drop, truth):
    """The table in a file, read as options of a command say; nothing else is imported before."""
    from separatrix.cli.reading import Reading, read_table

    return read_table(
        data,
        Reading(
            columns=listed(options["columns"]) or None,
            id_column=options["id_column"],
            besides=tuple(drop if options["columns"] else ()),
            truth=truth,
            text=frozenset(categorical),
            decimal=options["decimal"],
            missing=tuple(listed(options["missing"])),
            encoding=options["encoding"],
            sheet=options["sheet"],
            has_header=options["header"],
        ),
    )


def _features(table, options, categorical, drop, truth):
    """Features of a table, made as options of a command say."""
    from separatrix.cli.columns import check_table, featured

    impute = options["impute"]
    wishes = {
        "categorical": categorical,
        "drop": [*drop, *([truth] if truth else [])],
        "keep": listed(options["keep"]),
        "impute": None if impute == "none" else impute,
        "decimal": options["decimal"] or table.decimal,
        "max_categories": 20,
    }
    check_table(table, SimpleNamespace(**wishes))

    from separatrix.tables import TablePreparer

    preparer = TablePreparer(**wishes, standardize=options["standardize"])
    return featured(table, preparer, options["id_column"], truth)


@app.command()
def cluster(
    data: Data,
    k: K = None,
    method: Method = "auto",
    out: Out = None,
    labels_only: LabelsOnly = False,
    report: Report = None,
    model: Annotated[
        str | None, typer.Option(**FILE, help="Model to write, for `predict`: .skops.")
    ] = None,
    columns: Columns = None,
    drop: Drop = None,
    keep: Keep = None,
    truth: Truth = None,
    id_column: IdColumn = None,
    categorical: Categorical = None,
    impute: Impute = "median",
    missing: Missing = None,
    standardize: Standardize = True,
    decimal: Decimal = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    header: Header = True,
    outliers: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Share of rows in no cluster (label -1), or auto."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Parameter of the method; repeat for more."
        ),
    ] = None,
    random_state: Seed = 0,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Keeps finished passes over large files, so that the same command can go on.",
        ),
    ] = None,
):
    """Find clusters in a table; write it with their labels, a report and a model."""
    options = dict(locals())
    named = listed(categorical), listed(drop), truth
    table = _read(data, options, *named)

    from separatrix.cli.writing import Outputs, check_outputs, write_labels

    paths = {"labels": _destination(out), "report": report or "", "model": model or ""}
    with ExitStack() as opened:
        outputs = opened.enter_context(Outputs(data, **paths))
        if outputs["labels"] and not labels_only:
            check_outputs(table, named[1])
        features = _features(table, options, *named)

        from sklearn.pipeline import Pipeline

        from separatrix.cli import screens
        from separatrix.cli.methods import make_estimator, public_name

        estimator = make_estimator(method, k, settings or [], random_state, outliers)
        step = opened.enter_context(screens.progress(3))
        step(method)
        start = time.perf_counter()
        resumable = _checkpoint(checkpoint, table, features, estimator)
        with _noting() as notes, _refusing(public_name(estimator, method)):
            labels = _fitted_labels(estimator, features)
        seconds = time.perf_counter() - start
        if table.large is not None:  # what follows shows the sampled rows
            estimator.labels_ = estimator.predict(features.X)
        card = features.card(estimator.labels_)
        card["sizes"] = _sizes(labels)
        pipeline = Pipeline([("prepare", features.preparer), (method, estimator)])
        if report:
            step("report")
            with _refusing("report"):
                separatrix.write_report(
                    pipeline,
                    table.columns,
                    outputs["report"],
                    row_names=features.row_names,
                    title=f"Clusters of {Path(table.name).name}",
                    model_path=model or "model.skops",
                    truth=features.known_classes,
                )
        if model:
            from separatrix.cli.models import save_model

            step("model")
            save_model(outputs["model"], pipeline, card)
        if outputs["labels"]:
            if table.large is not None:
                kept = list(features.ids) if labels_only else None
                table.large.write_labels(outputs["labels"], labels, columns=kept)
            else:
                typed = outputs["labels"].endswith(".parquet")
                written = features.ids if labels_only else table.original(typed)
                confidence = getattr(estimator, "confidence_", None)
                write_labels(outputs["labels"], written, labels, confidence, **table.signs)
    if resumable is not None:  # all is written
        resumable.clear()
    found = len(card["sizes"])
    count = f"{found} cluster{'s' * (found > 1)}"
    if found == 1 and k is None:
        count = "no clusters found: the rows are one group,"
    told = [
        _described(features),
        *_noticed(features),
        (method, f"{count} in {seconds:.1f} s{_other_numbers(estimator, found)}"),
        _outliers(labels),
        _agreement(*(getattr(estimator, of, None) for of in ("agreement_", "agreement_words_"))),
        *_warned(features, estimator.labels_),
        *(("note", note) for note in notes),
    ]
    typical = features.typical_of(estimator.labels_) if found > 1 else ()
    beside = _beside_truth(features, estimator.labels_)
    _summarize(told, card["sizes"], paths, *beside, typical=typical)


def _other_numbers(estimator, found):
    """What other numbers of clusters are likely, if the method chose one."""
    from separatrix.selection.number_of_clusters import if_any

    if found == 1:
        likeliest = getattr(estimator, "n_clusters_if_any_", 1)
        return f"; {if_any(likeliest)}: -k {likeliest}" if likeliest > 1 else ""
    others = getattr(estimator, "plausible_n_clusters_", ())[1:]
    told = " or ".join(str(number) if number > 1 else "none" for number in others)
    return f"; as plausible: {told}" if others else ""


def _checkpoint(folder, table, features, estimator):
    """Keep the results of passes over a large table in a folder; None if none is named."""
    if folder is None:
        return None
    if table.large is None:
        raise Refusal(
            f"--checkpoint: {table.name} is read as a whole; the option is for folders of Parquet "
            "files and for Parquet files larger than memory"
        )
    from separatrix.data.checkpoints import Checkpoint

    with _refusing("--checkpoint", OSError):
        kept = Checkpoint(folder, table.large.task(features.preparer, estimator))
    features.all_rows.checkpoint = kept
    return kept


def _fitted_labels(estimator, features):
    """Labels of all rows, by a fit to them."""
    try:
        return estimator.fit(features.all_rows).labels_
    except TypeError as error:
        if features.table.large is None:
            raise
        remedy = "use -m separation, margin or kernel-kmeans, or a sample of the rows"
        if getattr(estimator, "outliers", None) is not None:
            remedy = "leave out --outliers, or use a sample of the rows"
        raise ValueError(f"it needs all rows in memory, which are too many; {remedy}") from error


def _beside_truth(features, labels):
    """Screens that compare clusters with the column that was held out, if any."""
    if features.truth is None:
        return []
    from sklearn.metrics import adjusted_rand_score

    from separatrix.cli import screens

    clustered = labels >= 0
    score = adjusted_rand_score(features.truth.values[clustered], labels[clustered])
    told = f"{score:.2f}, the adjusted Rand index: 1 is the same groups, 0 is chance"
    return [
        screens.crossed(features.truth.name, *features.crossed(labels)),
        screens.facts((f"clusters and {features.truth.name}", told)),
    ]


@app.command()
def predict(
    data: Data,
    model: Model,
    out: Out = None,
    labels_only: LabelsOnly = False,
    id_column: IdColumn = None,
    missing: Missing = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    header: Header = True,
):
    """Label the rows of another table with a saved model."""

    from separatrix.cli import screens
    from separatrix.cli.columns import preparing, read_again
    from separatrix.cli.models import load_model
    from separatrix.cli.writing import Outputs, write_labels
    from separatrix.drift import drift_of_sizes

    paths = {"labels": _destination(out)}
    with Outputs(data, model, **paths) as outputs, screens.progress(3) as step:
        step("model")
        pipeline, card = load_model(model)
        if "prepare" not in pipeline.named_steps:
            raise Refusal(
                f"{model}: this model takes no tables; save one that does with cluster --model"
            )
        step("reading")
        named = card["id_column"] if id_column is None else id_column
        id_column = named if labels_only else None
        table = read_again(
            data,
            pipeline,
            id_column=id_column,
            missing=tuple(listed(missing)),
            encoding=encoding,
            sheet=sheet,
            has_header=header,
        )
        step(card["method"])
        with _noting() as notes, _refusing(model, *BROKEN):
            with preparing(table):
                if table.large is None:
                    X = pipeline[0].transform(table.columns)
                else:
                    X = table.large.features(pipeline[0])
                labels = pipeline[1:].predict(X)
            sizes = _sizes(labels, n_clusters=len(card["sizes"]))
            beside_fit = drift_of_sizes(card["sizes"], sizes).words
        if outputs["labels"] and table.large is not None:
            columns = ([id_column] if id_column else []) if labels_only else None
            table.large.write_labels(outputs["labels"], labels, columns=columns)
        elif outputs["labels"]:
            original = table.original(outputs["labels"].endswith(".parquet"))
            ids = {id_column: original[id_column]} if id_column else {}
            written = ids if labels_only else original
            write_labels(outputs["labels"], written, labels, **table.signs)
    name = "standard input" if data == "-" else Path(data).name
    told = [(name, f"{len(labels):,} rows"), ("shares", beside_fit), _outliers(labels)]
    told += [*table.facts, *(("note", note) for note in notes)]
    _summarize(told, sizes, paths)


@app.command()
def compare(
    data: Data,
    k: Annotated[int, typer.Option("-k", min=2, **N, help="Number of clusters.")],
    methods: Annotated[
        str | None, typer.Option(**NAMES, help="Some of `methods`.", show_default="those of auto")
    ] = None,
    rows: Annotated[int, typer.Option(min=3, **N, help="Use at most so many random rows.")] = 2000,
    report: Report = None,
    columns: Columns = None,
    drop: Drop = None,
    keep: Keep = None,
    id_column: IdColumn = None,
    categorical: Categorical = None,
    impute: Impute = "median",
    missing: Missing = None,
    standardize: Standardize = True,
    decimal: Decimal = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    header: Header = True,
    random_state: Seed = 0,
):
    """Run several methods on a table and rank them by how good their clusters seem."""
    options = dict(locals())
    named = listed(categorical), listed(drop), None
    table = _read(data, options, *named)
    features = _features(table, options, *named)

    import numpy as np

    from separatrix.cli import screens
    from separatrix.cli.methods import compared_by_default, make_candidate
    from separatrix.cli.writing import Outputs

    if report == "-":
        raise Refusal("--report -: standard output shows the comparison; name a file")
    asked = listed(methods) or compared_by_default()
    candidates = {name: make_candidate(name, k, random_state) for name in asked}
    with Outputs(data, report=report) as outputs, screens.progress(2) as step:
        with _refusing("compare"):
            chosen = np.random.RandomState(random_state).permutation(len(features.X))[:rows]
            chosen.sort()
            comparison = separatrix.compare_clusterings(
                features.X[chosen],
                candidates,
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
                    title=f"Clusterings of {Path(table.name).name}",
                )
    told = [
        _described(features),
        *_noticed(features),
        ("compared", f"{rows:,} of them, drawn at random" if len(features.X) > rows else None),
        _agreement(comparison.family_agreement, comparison.agreement_words),
        ("report", report),
    ]
    screens.show(screens.facts(*told), *screens.compared(comparison))


@app.command()
def explain(
    model: Model,
    top: Annotated[int, typer.Option(min=1, **N, help="Number of features to show.")] = 8,
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
    """List all methods."""
    from separatrix.cli import screens
    from separatrix.cli.candidates import candidates
    from separatrix.cli.methods import methods

    rows = [(name, found.__doc__.split("\n")[0]) for name, found in methods().items()]
    others = [(name, f"a candidate of auto: {one.family}") for name, one in candidates().items()]
    others = [(name, told) for name, told in others if name not in dict(rows)]
    screens.show(screens.facts(*rows), screens.facts(*others))


@app.command()
def demo(
    to: Annotated[
        str, typer.Option(metavar="FOLDER", help="Folder to write to.")
    ] = "separatrix-demo",
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
                raise Refusal(f"{to}: holds other files; name another folder with --to")
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
