"""Where the texts are: the course's own, a file the reader has, or a download with a checksum."""

import os
from pathlib import Path
from typing import NamedTuple

import pooch
import requests

from helpers.corpora.reading import CorpusError

DATA = Path(__file__).resolve().parents[2] / "data"
DOWNLOADS = DATA / "downloads"
FOLDER_VARIABLE = "COURSE_DATA"  # a folder in which the reader keeps data sets


class Source(NamedTuple):
    """A public file: its name, its address, the checksum of what is downloaded, its name inside an archive."""

    filename: str
    address: str
    checksum: str
    member: str | None = None


SOURCES = {
    "sentfin": Source(
        "SEntFiN.csv",
        "https://raw.githubusercontent.com/pyRis/SEntFiN/main/SEntFiN.csv",
        "md5:fbf86bbc01dd726336bba512851d4780",
    ),
    **{
        f"wikitext2-{part}": Source(
            f"wiki.{part}.tokens",
            "https://wikitext.smerity.com/wikitext-2-v1.zip",
            "md5:542ccefacc6c27f945fb54453812b3cd",
            f"wikitext-2/wiki.{part}.tokens",
        )
        for part in ("train", "valid", "test")
    },
    **{
        f"personachat-{part}": Source(
            f"{part}_self_original_no_cands.txt",
            "http://parl.ai/downloads/convai2/convai2_fix_723.tgz",
            "sha256:d0ae89defe2fd0b0a4221eaa642a457d7d40cef475f54798119c7f3b8dd9361d",
            f"{part}_self_original_no_cands.txt",
        )
        for part in ("train", "valid")
    },
}


def locate(name: str) -> Path:
    """Return the path of a public data set: a local file first, else downloaded once and checked.

    Local places are the folder that the variable COURSE_DATA names, with its subfolders, and `data/downloads/`.
    Raises KeyError for a name that is not in SOURCES, CorpusError where the file is not here and cannot be had.
    """
    source = SOURCES[name]
    for folder in filter(None, (os.environ.get(FOLDER_VARIABLE), str(DOWNLOADS))):
        found = sorted(Path(folder).rglob(source.filename))
        if found:
            return found[0]
    unpack = None
    if source.member:
        archive = pooch.Unzip if source.address.endswith(".zip") else pooch.Untar
        unpack = archive(members=[source.member], extract_dir=str(DOWNLOADS))
    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            source.address,
            known_hash=source.checksum,
            path=DOWNLOADS,
            fname=None if unpack else source.filename,
            processor=unpack,
            downloader=pooch.HTTPDownloader(timeout=10),
        )
        return sorted(DOWNLOADS.rglob(source.filename))[0]
    except (requests.RequestException, OSError) as error:
        cause = "no connection" if isinstance(error, requests.ConnectionError) else type(error).__name__
    except ValueError:  # pooch: the checksum differs; it keeps nothing of such a file
        cause = "what came has another checksum"
    raise CorpusError(
        f"{source.filename} is not here and could not be downloaded from {source.address} ({cause}); "
        f"put it into {DOWNLOADS}, or set {FOLDER_VARIABLE} to the folder that has it"
    )
