"""The course from the command line: python -m helpers doctor | read | train | measure."""

import argparse
import dataclasses
import io
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helpers.corpora import Reading

# Here and not in the studies, so that --help needs no torch.
STUDIES = ("layers", "memory", "headlines", "dialogue", "language-model", "scaling")
OWN_MEASUREMENTS = Path(__file__).resolve().parents[1] / "data" / "local" / "measurements.json"
INTERRUPTED = 130  # what shells report for Ctrl-C


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 something is missing or failed, 2 unusable input."""
    options = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a console that lacks a character shows its number
    if options.command == "train" and (fault := _checkpoint_fault(options)):
        print(fault, file=sys.stderr)
        return 2
    try:
        return {"doctor": _doctor, "read": _read, "train": _train, "measure": _measure}[options.command](options)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m helpers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    doctor = commands.add_parser("doctor", help="examine this machine; exit 1 where something needed is missing")
    read = commands.add_parser("read", help="read a file of labelled headlines and say what was kept and rejected")
    read.add_argument("file", type=Path, metavar="FILE")
    train = commands.add_parser("train", help="train the headline classifier and compare it with baselines")
    train.add_argument("--data", type=Path, metavar="FILE", help="labelled headlines (default: the course's own)")
    train.add_argument("--epochs", type=_positive, default=10, metavar="N")
    train.add_argument("--seed", type=_seed, default=0, metavar="S")
    train.add_argument("--device", metavar="D", help="cpu, cuda, cuda:1, mps (default: an accelerator that works)")
    train.add_argument("--accumulate", type=_positive, default=1, metavar="N", help="batches a step (default: 1)")
    train.add_argument("--checkpoint", type=Path, metavar="FILE", help="where to save after every epoch")
    train.add_argument("--resume", action="store_true", help="go on from the checkpoint, if there is one")
    measure = commands.add_parser("measure", help="measure the course's ladder on this machine and write it as JSON")
    measure.add_argument("--study", choices=(*STUDIES, "all"), default="all")
    measure.add_argument(
        "--data", type=Path, metavar="PATH", help="a folder with the public data sets, or a file of labelled headlines"
    )
    measure.add_argument("--device", metavar="D", help="cpu, cuda, cuda:1, mps (default: an accelerator that works)")
    measure.add_argument(
        "--out", type=Path, default=OWN_MEASUREMENTS, metavar="FILE", help="default: data/local/measurements.json"
    )
    measure.add_argument("--repeats", type=_positive, default=3, metavar="N", help="seeds of the runs to equal quality")
    measure.add_argument(
        "--budget-seconds", type=_positive, default=None, metavar="S", help="begin nothing new after so many seconds"
    )
    measure.add_argument("--resume", action="store_true", help="go on with the file, if there is one")
    for command in (doctor, read, train, measure):
        command.add_argument("--json", action="store_true", help="the result as JSON, on the last line")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of 1 or more")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) > 2**32:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 0 to {2**32}")
    return int(text)


def _checkpoint_fault(options: argparse.Namespace) -> str | None:
    """Find before the training what would end it after an epoch."""
    path = options.checkpoint
    if path is None:
        return "--resume needs --checkpoint FILE: it says where to go on from" if options.resume else None
    if path.is_dir():
        return f"--checkpoint {path} is a folder: give a file"
    return None


def _doctor(options: argparse.Namespace) -> int:
    from helpers.doctor import examine

    checks = examine()
    missing = any(check.status == "missing" for check in checks)
    if options.json:
        print(json.dumps({"ok": not missing, "checks": [dataclasses.asdict(check) for check in checks]}))
        return int(missing)
    for check in checks:
        print(f"{check.status:<8} {check.part:<14} {check.found}" + (f" -> {check.remedy}" if check.remedy else ""))
    print("Something needed is missing: see above." if missing else "The course can run here.")
    return int(missing)


def _read(options: argparse.Namespace) -> int:
    from helpers.corpora import CorpusError, read_headlines, refuse_untrainable

    report: dict = {"kept": 0, "labels": {}, "rejected": [], "encoding": None, "warnings": []}
    error = None
    try:
        reading = read_headlines(options.file)
        report = _report(reading)
        if not options.json:
            _print_report(options.file, report)
        refuse_untrainable(reading)
    except CorpusError as fault:
        error = str(fault)
    if options.json:
        print(json.dumps(report | ({"error": error} if error else {})))
    if error:
        print(error, file=sys.stderr)
    return 2 if error else 0


def _report(reading: "Reading") -> dict:
    """Return what `read --json` prints of a reading."""
    return {
        "kept": len(reading.examples),
        "labels": dict(sorted(Counter(example.label for example in reading.examples).items())),
        "rejected": [rejected._asdict() for rejected in reading.rejected],
        "encoding": reading.encoding,
        "warnings": list(reading.warnings),
    }


def _print_report(path: Path, report: dict) -> None:
    labels = ", ".join(f"{label} {count}" for label, count in report["labels"].items())
    print(f"{path}: kept {report['kept']} ({labels}), rejected {len(report['rejected'])}, read as {report['encoding']}")
    first: dict[str, int] = {}
    for rejected in report["rejected"]:
        first.setdefault(rejected["reason"], rejected["line"])
    reasons = Counter(rejected["reason"] for rejected in report["rejected"]).most_common()
    for reason, count in reasons[:10]:
        print(f"  rejected {count}, the first on line {first[reason]}: {reason}")
    if len(reasons) > 10:
        print(f"  and {len(reasons) - 10} more reasons: see --json")
    for warning in report["warnings"]:
        print(f"  warning: {warning}")


def _train(options: argparse.Namespace) -> int:
    """Train alone, or as one of the processes that torchrun started: then the first alone prints."""
    from helpers.checkpoints import CheckpointError
    from helpers.classifier import train_classifier
    from helpers.corpora import DATA, CorpusError, read_headlines, refuse_untrainable
    from helpers.device import choose_device
    from helpers.distributed import local_device, process_group

    if (rank := os.environ.get("RANK", "0")) != "0":
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the rest of this process
    try:
        path = options.data or DATA / "headlines.tsv"
        reading = read_headlines(path)
        _print_report(path, _report(reading))
        refuse_untrainable(reading)
        device = choose_device(local_device(options.device))
        with process_group(device) as ranks:
            result = train_classifier(
                reading,
                device=device,
                ranks=ranks,
                epochs=options.epochs,
                seed=options.seed,
                accumulate=options.accumulate,
                checkpoint=options.checkpoint,
                resume=options.resume,
            )
    except (CorpusError, CheckpointError, ValueError) as error:
        if rank == "0":
            print(error, file=sys.stderr)
        return 2
    except FloatingPointError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename or options.checkpoint}: {error.strerror}; give another --checkpoint", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        saved = options.checkpoint is not None and options.checkpoint.exists()
        go_on = f"go on with --checkpoint {options.checkpoint} --resume" if saved else "nothing was saved"
        print(f"stopped; {go_on}", file=sys.stderr)
        return INTERRUPTED
    if options.json:
        print(json.dumps(result))
    else:
        print("  ".join(f"{name.replace('_', ' ')} {value}" for name, value in result.items()))
    return 0


def _measure(options: argparse.Namespace) -> int:
    from helpers.corpora import CorpusError
    from helpers.corpora.sources import FOLDER_VARIABLE
    from helpers.device import choose_device
    from helpers.studies import Recorder, RecordError, measure_studies

    if options.data is not None and not options.data.exists():
        print(f"{options.data}: no such file or folder", file=sys.stderr)
        return 2
    if options.data is not None and options.data.is_dir():
        os.environ[FOLDER_VARIABLE] = str(options.data)
    headlines = options.data if options.data is not None and options.data.is_file() else None
    names = STUDIES if options.study == "all" else (options.study,)
    if headlines is not None and "headlines" not in names:
        print(f"--data {options.data} is a file of headlines: {options.study} wants a folder", file=sys.stderr)
        return 2
    go_on = f"go on with --out {options.out} --resume"
    try:
        device = choose_device(options.device)
        seconds = options.budget_seconds or float("inf")
        recorder = Recorder.start(options.out, device, repeats=options.repeats, seconds=seconds, resume=options.resume)
        with tempfile.TemporaryDirectory() as cache:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache  # empty, so that a first call compiles
            result = measure_studies(names, recorder, device, options.repeats, headlines)
    except (CorpusError, RecordError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or options.out}: {error.strerror}; give another --out", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"stopped; what was measured is kept: {go_on}", file=sys.stderr)
        return INTERRUPTED
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            if not name.endswith("_spread"):
                spread = result[f"{name}_spread"]
                said = "not measured" if value is None else f"≈{value:.3g}"
                print(f"{name:<70} {said}" + (f" (spread ≈{spread:.2g})" if spread is not None else ""))
        print(f"written to {options.out}")
    return int(any("failed" in parts for parts in recorder.record["studies"].values()))


if __name__ == "__main__":
    sys.exit(main())
