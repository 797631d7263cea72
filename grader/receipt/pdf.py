"""Makes a PDF of a receipt's page, with a library that is optional; nothing is ever fetched."""

from __future__ import annotations

import logging

from grader.errors import ContentProblem, EnvironmentProblem


def make(html: str) -> bytes:
    """Return the page as PDF on A4, tagged for screen readers; same page, same bytes.

    Raises:
        EnvironmentProblem: WeasyPrint, or a library of the system that it needs, is missing.
        ContentProblem: the page cannot be laid out.
    """
    try:
        # Its log repeats what a page's author already saw in a browser.
        logging.getLogger("weasyprint").setLevel(logging.CRITICAL)
        import weasyprint
    except ImportError as error:
        raise EnvironmentProblem(
            f"a PDF needs WeasyPrint, which this Python does not have ({error.name or error})",
            next_step="pip install 'shardgrade[pdf]', or print the HTML receipt from a browser",
        ) from error
    except OSError as error:
        raise EnvironmentProblem(
            f"WeasyPrint lacks a library of the system: {str(error).splitlines()[0]}",
            next_step="install Pango (Debian: apt install libpango-1.0-0 libpangoft2-1.0-0; "
            "macOS: brew install pango), or print the HTML receipt from a browser",
        ) from error
    try:
        # What a page shows is in the page; a template that asks for more gets nothing.
        fetcher = weasyprint.urls.URLFetcher(allowed_protocols=())
        page = weasyprint.HTML(string=html, url_fetcher=fetcher)
        made: bytes = page.write_pdf(pdf_identifier=b"", pdf_tags=True)
    except Exception as error:
        raise ContentProblem(
            f"the receipt's page could not be laid out: {type(error).__name__}: {error}",
            next_step="render it with --to html and print that from a browser",
        ) from error
    return made
