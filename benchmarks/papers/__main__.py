"""Measure tables of the papers and write their pages.

python -m benchmarks.papers [PAPER [TABLE ...]] [--quick] [--jobs 2]
"""

import argparse
import os
import re
import sys
from pathlib import Path

from benchmarks.data import found_folder
from benchmarks.papers.harness import Paper, Results, distinct, run
from benchmarks.papers.pages import WHAT_IS_AIMED_AT, index, page, totals

PAPERS = ("mspc", "mmc", "mvc", "umcrls", "odmc")
HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PAGES = HERE.parents[1] / "docs" / "papers"


def chosen_tables(tables, names):
    known = [table.name for table in tables]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no such table: {', '.join(unknown)}; there are {', '.join(known)}")
    return [table for table in tables if not names or table.name in names]


def measure(name, names_of_tables, scale, options):
    """Run what is missing of a paper and write its page; the names of jobs that failed."""
    paper = Paper.of(name)
    results = Results(Path(options.results) / f"{name}.jsonl", paper.protocol)
    whole = paper.tables("smoke" if scale == "smoke" else "full")
    chosen = chosen_tables(paper.tables(scale), names_of_tables)
    jobs = distinct(job for table in chosen for job in table.jobs)
    jobs = [job for job in jobs if re.search(options.only, job.name)]
    failed = []
    if not options.pages_only:
        if options.again:
            results.forget(jobs)
        print(f"\n{paper.title}: {', '.join(table.name for table in chosen)}", flush=True)
        failed = run(jobs, results, options.jobs, say, options.limit)
    results.compact(distinct(job for table in whole for job in table.jobs))
    target = Path(options.pages) / f"{name}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(paper, whole, results), encoding="utf-8")
    print(f"written: {target}")
    return failed


def write_index(options):
    """Write and print the totals of all papers that have results."""
    papers = []
    for name in PAPERS:
        paper = Paper.of(name)
        results = Results(Path(options.results) / f"{name}.jsonl", paper.protocol)
        if results.records:
            papers.append((paper, paper.tables("smoke" if options.smoke else "full"), results))
    (Path(options.pages) / "index.md").write_text(index(papers), encoding="utf-8")
    print("", *totals(papers, lambda paper: paper.title), "", WHAT_IS_AIMED_AT, sep="\n")


def say(text):
    print(text, flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("paper", nargs="?", default="all", choices=("all", *PAPERS))
    parser.add_argument("tables", nargs="*", metavar="table", help="such as table2; all without")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", action="store_true", help="fewer repeats and sets: ten minutes on two cores"
    )
    size.add_argument("--smoke", action="store_true", help="hardly anything: whether it runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument(
        "--limit", type=float, default=0.0, help="stop a measurement after so many CPU seconds"
    )
    parser.add_argument(
        "--only", default="", help="measurements whose name has this regular expression in it"
    )
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--pages-only", action="store_true", help="write pages and run nothing")
    parser.add_argument("--results", default=RESULTS, help="folder of what was measured")
    parser.add_argument("--pages", default=PAGES, help="folder of the pages")
    options = parser.parse_args(arguments)
    if options.paper == "all" and options.tables:
        parser.error("a table needs the name of its paper")
    if found_folder() is None:
        print("skipped: no data sets found; put them in benchmarks/data or set SEPARATRIX_DATA.")
        return 0
    scale = "quick" if options.quick else "smoke" if options.smoke else "full"
    papers = PAPERS if options.paper == "all" else (options.paper,)
    failed = [name for one in papers for name in measure(one, options.tables, scale, options)]
    write_index(options)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
