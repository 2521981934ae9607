"""Fetching a file from a URL: through requests where that is installed (its proxies and certificates count), as in MXNet, else through urllib."""

from __future__ import annotations

import importlib
import shutil
import ssl
import urllib.request
import warnings
from types import ModuleType

__all__ = ["fetch"]


def _requests() -> ModuleType | None:
    try:
        return importlib.import_module("requests")
    except ImportError:
        return None


def fetch(url: str, path: str, verify_ssl: bool = True) -> None:
    """Writes what a URL gives to a file. Errors: OSError (those of requests and urllib are) when it cannot be had."""
    if not verify_ssl:
        warnings.warn("Unverified HTTPS request is being made (verify_ssl=False): whoever is in between can change the file.", stacklevel=3)
    requests = _requests()
    if requests is None:
        context = ssl.create_default_context() if verify_ssl else ssl._create_unverified_context()  # noqa: S323 - what the caller asked for
        with urllib.request.urlopen(url, context=context) as source, open(path, "wb") as file:
            shutil.copyfileobj(source, file)
        return
    response = requests.get(url, stream=True, verify=verify_ssl)
    if response.status_code != 200:
        raise OSError(f"failed to download {url}: HTTP status {response.status_code}")
    with open(path, "wb") as file:
        for chunk in response.iter_content(chunk_size=1 << 16):
            file.write(chunk)
