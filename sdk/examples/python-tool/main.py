"""A tool that describes the columns of a CSV file, so that a model need not read all of its rows."""

import csv
import io
import statistics

from dispatch_extension import Extension

ROWS_BETWEEN_REPORTS = 10_000

extension = Extension()


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def describe(name, values):
    """One line about a column: pure, so it can be tested without a host."""
    filled = [value for value in values if value.strip()]
    missing = f", {len(values) - len(filled)} empty" if len(filled) < len(values) else ""
    numbers = [number(value) for value in filled]
    if filled and None not in numbers:
        mean = statistics.fmean(numbers)
        return f"{name}: numbers from {min(numbers):g} to {max(numbers):g}, mean {mean:g}{missing}"
    distinct = sorted(set(filled))
    shown = ", ".join(distinct[:5]) + (", ..." if len(distinct) > 5 else "")
    return f"{name}: text, {len(distinct)} distinct ({shown}){missing}"


@extension.tool(
    "csv_profile",
    "Describes the columns of a CSV file: kind, range, mean, distinct values, empty cells.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string", "description": "The file, below the workspace."}},
        "required": ["path"],
        "additionalProperties": False,
    },
    concurrency_safe=True,
    read_only=True,
)
def csv_profile(args, call):
    reader = csv.reader(io.StringIO(call.ask("files.read", path=args["path"])))
    header = next(reader, [])
    columns = [[] for _ in header]
    rows = 0
    for row in reader:
        if call.cancelled:
            return f"cancelled after {rows} rows"
        rows += 1
        for at, column in enumerate(columns):
            column.append(row[at] if at < len(row) else "")
        if rows % ROWS_BETWEEN_REPORTS == 0:
            call.output(f"{rows} rows read\n")
    lines = [describe(name, values) for name, values in zip(header, columns)]
    return "\n".join([f"{rows} rows, {len(header)} columns", *lines])


if __name__ == "__main__":
    extension.run()
