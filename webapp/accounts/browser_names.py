"""Name a browser and its system from its user agent, for the list of login sessions."""

import re

# The first that fits: browsers name each other, and Android names Linux.
_BROWSERS = {
    "Edg(e|A|iOS)?/": "Edge",
    "OPR/|Opera": "Opera",
    "Firefox/|FxiOS/": "Firefox",
    "Chrom(e|ium)/|CriOS/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
    "python": "Python",
}
_SYSTEMS = {
    "Android": "Android",
    "iPhone|iPad": "iOS",
    "Windows": "Windows",
    "Mac OS X|Macintosh": "macOS",
    "CrOS": "ChromeOS",
    "Linux|X11": "Linux",
}


def browser_name(user_agent: str) -> str:
    """Return the browser's name and system from its user agent, such as `Firefox on Linux`."""
    browser, system = _first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent)
    return " on ".join(name for name in (browser or "A browser", system) if name)


def _first(names: dict[str, str], text: str) -> str | None:
    return next((name for pattern, name in names.items() if re.search(pattern, text)), None)
