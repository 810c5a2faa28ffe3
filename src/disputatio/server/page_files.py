"""The built page as static files, with a policy that lets it load only its own files."""

from __future__ import annotations

import os

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

# No inline script or style, nothing from elsewhere, no frame, no form; and no text ever becomes markup, as
# the browser refuses every sink of it, but for the address of the worker that reads PDFs, which is one of
# these files. The guard adds the other headers.
_POLICY = "; ".join((
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'",
    "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    "require-trusted-types-for 'script'", "trusted-types pdf-worker",
))  # fmt: skip
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_KEPT = "public, max-age=31536000, immutable"  # names of assets change with their content


class PageFiles(StaticFiles):
    """Files of the page with its headers; browsers request `index.html` each time."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return a file with the headers of the page."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(_HEADERS)
        assets = scope["path"].rpartition("/")[0].endswith("/assets")
        response.headers["Cache-Control"] = _KEPT if assets else "no-cache"
        return response
