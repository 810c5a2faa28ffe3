"""Checks of web addresses before a fetch: strict parsing of URLs and hosts, and no private addresses.

Nothing here opens a socket. `read_address` reads a URL as browsers do (WHATWG URL) and refuses what
two readers could understand differently; `check_ip` judges one resolved address by IANA's registries
of special-purpose addresses (RFC 6890 and its updates). The tables are our own: those of `ipaddress`
differ between patch releases of Python and lack the metadata addresses of clouds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import quote, urljoin

from disputatio.errors import IngestError
from disputatio.store.ingesting.source import domain

PORTS = frozenset({80, 443})
_LONGEST = 8_192
_SHOWN = 300
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://)?([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_CREDENTIALS = re.compile(r"//[^/?#]*@")
# IDNA 2003, which the standard library speaks, and IDNA 2008 name different hosts by these.
_DEVIATIONS = frozenset("\u00df\u1e9e\u03c2\u200c\u200d")
_LOCAL_NAMES = "localhost localdomain local internal intranet lan home.arpa test invalid".split()  # noqa: SIM905

# Network, what it is, and whether `allow_private` opens it.
_SPECIAL_4: tuple[tuple[IPv4Network, str, bool], ...] = tuple(
    (IPv4Network(network), name, opens)
    for network, name, opens in (
        ("169.254.0.0/16", "a link-local or metadata address", False),
        ("100.100.100.200/32", "a metadata address", False),
        ("168.63.129.16/32", "a metadata address", False),
        ("0.0.0.0/8", "an unspecified address", False),
        ("127.0.0.0/8", "a loopback address", True),
        ("10.0.0.0/8", "a private address", True),
        ("172.16.0.0/12", "a private address", True),
        ("192.168.0.0/16", "a private address", True),
        ("100.64.0.0/10", "a shared (carrier) address", True),
        ("192.0.0.0/24", "a reserved address", False),
        ("192.0.2.0/24", "a documentation address", False),
        ("192.31.196.0/24", "a reserved address", False),
        ("192.52.193.0/24", "a reserved address", False),
        ("192.88.99.0/24", "a 6to4 relay", False),
        ("192.175.48.0/24", "a reserved address", False),
        ("198.18.0.0/15", "a benchmarking address", False),
        ("198.51.100.0/24", "a documentation address", False),
        ("203.0.113.0/24", "a documentation address", False),
        ("224.0.0.0/4", "a multicast address", False),
        ("240.0.0.0/4", "a reserved address", False),
    )
)
_SPECIAL_6: tuple[tuple[IPv6Network, str, bool], ...] = tuple(
    (IPv6Network(network), name, opens)
    for network, name, opens in (
        ("fd00:ec2::/32", "a metadata address", False),
        ("fd20:ce::/32", "a metadata address", False),
        ("::1/128", "a loopback address", True),
        ("::/128", "an unspecified address", False),
        ("::/96", "an IPv4 address in IPv6", False),
        ("::ffff:0:0:0/96", "an IPv4 address in IPv6", False),
        ("64:ff9b:1::/48", "a local NAT64 address", False),
        ("fc00::/7", "a private address", True),
        ("fe80::/10", "a link-local address", False),
        ("fec0::/10", "a site-local address", False),
        ("ff00::/8", "a multicast address", False),
        ("2001::/32", "a Teredo address", False),
        ("2001::/23", "a reserved address", False),
        ("2001:db8::/32", "a documentation address", False),
        ("2002::/16", "a 6to4 address", False),
        ("3fff::/20", "a documentation address", False),
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)  # RFC 5214: the interface part that carries an IPv4 address


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAddress:
    """A web address taken apart; `host` is lower-case ASCII, an IPv6 one without its brackets.

    `target` is the path and query as they are sent. `literal` is the address where the host is one.
    """

    scheme: str
    host: str
    port: int
    target: str
    literal: IPv4Address | IPv6Address | None = None

    @property
    def authority(self) -> str:
        """Host and port as the Host header names them; the scheme's own port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _port_of(self.scheme) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def read_address(url: str, *, ports: Collection[int] = PORTS) -> WebAddress:
    """Return a URL taken apart; hosts in odd spellings become what they stand for.

    Raises `IngestError` for another scheme, credentials, a port not in `ports`, characters that
    readers of URLs drop or turn around (controls, blanks, backslashes), and what is no host.

    >>> read_address("HTTP://2130706433/a?b#c").url
    'http://127.0.0.1/a?b'
    >>> read_address("https://①②⑦.1/").host, read_address("https://0177.0.0.1./").host
    ('127.0.0.1', '127.0.0.1')
    """
    if len(url) > _LONGEST:
        raise _refusal(url, f"is longer than {_LONGEST} characters")
    if any(_is_odd(letter) for letter in url):
        raise _refusal(url, "has a blank, a backslash or an invisible character in it")
    parts = _URL.fullmatch(url)
    scheme = parts[1].lower() if parts else ""
    if parts is None or scheme not in ("http", "https"):
        raise _refusal(url, "is not an http or https address")
    if not url[len(scheme) :].startswith("://") or not parts[2]:
        raise _refusal(url, "names no host")
    host, port = _host_and_port(url, parts[2], scheme)
    if port not in ports:
        allowed = " and ".join(str(port) for port in sorted(ports))
        raise _refusal(url, f"asks for port {port} (allowed: {allowed})")
    literal: IPv4Address | IPv6Address | None = None
    if host.startswith("["):
        literal = _ipv6(url, host)
    else:
        host = _name(url, host)
        literal = _ipv4(url, host)
    host = str(literal) if literal is not None else host
    query = "" if parts[4] is None else f"?{quote(parts[4], safe=_KEPT)}"
    target = (quote(parts[3], safe=_KEPT) or "/") + query
    return WebAddress(scheme=scheme, host=host, port=port, target=target, literal=literal)


_KEPT = "%/:@!$&'()*+,;=~?[]|"


def read_redirect(base: WebAddress, location: str, *, ports: Collection[int] = PORTS) -> WebAddress:
    """Return where a `Location` header of a page leads, judged as a first URL; never from https to http."""
    if not location or any(_is_odd(letter) for letter in location):
        raise _refusal(base.url, "redirects to an address with a blank, backslash or invisible character")
    if location.startswith("//"):
        location = f"{base.scheme}:{location}"
    elif not _SCHEME.match(location):
        location = urljoin(base.url, location)
    address = read_address(location, ports=ports)
    if base.scheme == "https" and address.scheme == "http":
        raise _refusal(base.url, f"redirects from https to {display_url(address.url)}")
    return address


def check_name(address: WebAddress, *, allow_private: bool = False) -> None:
    """Raise `IngestError` where the host's name belongs to this machine or its local network."""
    if address.literal is not None or allow_private:
        return
    last = address.host.split(".")
    local = any(address.host == name or address.host.endswith(f".{name}") for name in _LOCAL_NAMES)
    if local or len(last) == 1:
        raise _refusal(address.url, f"{address.host!r} is a local name")


def check_ip(text: str, *, allow_private: bool = False) -> str:
    """Return why an address may not be connected to; empty when it may. IPv4 inside IPv6 is judged where
    traffic would reach it, and else refused; `allow_private` opens loopback and private networks, never
    link-local or metadata addresses.

    >>> check_ip("93.184.216.34"), check_ip("::ffff:127.0.0.1")
    ('', '::ffff:127.0.0.1 is a loopback address')
    """
    try:
        ip = ip_address(text)
    except ValueError:
        return f"{text[:60]!r} is not an address"
    if isinstance(ip, IPv6Address):
        if ip.scope_id is not None:
            return f"{text[:60]} has a zone"
        carried = ip.ipv4_mapped
        if carried is None and ip in _NAT64:
            carried = IPv4Address(int(ip) & 0xFFFFFFFF)
        what = _kind_6(ip, allow_private) if carried is None else _kind_4(carried, allow_private)
    else:
        what = _kind_4(ip, allow_private)
    return f"{text} is {what}" if what else ""


def is_private(text: str) -> bool:
    """Return whether an address is open only because private ones are allowed."""
    return bool(check_ip(text)) and not check_ip(text, allow_private=True)


def same_site(first: str, other: str) -> bool:
    """Return whether two URLs are of one registrable domain, or of one host that is under none.

    >>> same_site("https://www.bbc.co.uk/a", "http://bbc.co.uk"), same_site("https://a.co.uk", "https://b.co.uk")
    (True, False)
    """
    return site(first) == site(other) != ""


def site(url: str) -> str:
    """Return the registrable domain of a URL, or its host where it has none; empty for a bad URL.

    >>> site("https://www.census.gov./x"), site("http://census.gov@evil.example/")
    ('census.gov', '')
    """
    try:
        return domain(read_address(url, ports=range(1, 65_536)).url)
    except IngestError:
        return ""


def display_url(url: str) -> str:
    r"""Return a URL as a message may show it: one short line, no credentials, nothing invisible.

    >>> display_url("http://me:secret@x.example/\x1b[2J\u202e")
    'http://***@x.example/\\x1b[2J\\u202e'
    """
    short = url if len(url) <= _SHOWN else f"{url[:_SHOWN]}..."
    plain = "".join(
        letter if letter == " " or not _is_odd(letter) or letter == "\\" else repr(letter)[1:-1]
        for letter in short
    )
    return _CREDENTIALS.sub("//***@", plain)


def _refusal(url: str, reason: str) -> IngestError:
    return IngestError(display_url(url), reason, "not_fetched")


def _is_odd(letter: str) -> bool:
    """Return whether readers of URLs drop, turn around or hide a character."""
    return letter == "\\" or unicodedata.category(letter)[0] in "CZ"


def _port_of(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _host_and_port(url: str, authority: str, scheme: str) -> tuple[str, int]:
    if "@" in authority:
        raise _refusal(url, "has a user name or password in it")
    match = re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*)(?::(\d{0,5}))?", authority, re.ASCII)
    if match is None or not match[1]:
        raise _refusal(
            url, "has a host and port that cannot be told apart" if match is None else "names no host"
        )
    return match[1], int(match[2]) if match[2] else _port_of(scheme)


def _name(url: str, host: str) -> str:
    """Return a host's name in lower-case ASCII (IDNA), without the dot at its end."""
    if "%" in host:
        raise _refusal(url, "has a percent sign in its host")
    if _DEVIATIONS & set(host):
        raise _refusal(url, "has a host that two standards read differently; write it in its xn-- form")
    plain = unicodedata.normalize("NFKC", host)
    plain = re.sub("[\u3002\uff0e\uff61]", ".", plain).lower().removesuffix(".")
    try:
        name = plain.encode("idna").decode("ascii").lower()
    except UnicodeError:
        name = ""
    if len(name) > 253 or not _HOST.fullmatch(name) or any(len(label) > 63 for label in name.split(".")):
        raise _refusal(url, "has a host that is no name of one")
    return name


def _ipv4(url: str, host: str) -> IPv4Address | None:
    """Return the address that a host stands for where its last part is a number (WHATWG URL, 3.5)."""
    parts = host.split(".")
    if not _NUMBER.fullmatch(parts[-1]):
        return None
    try:
        numbers = [_number(part) for part in parts]
        *heads, tail = numbers
        if len(numbers) > 4 or any(head > 255 for head in heads) or tail >= 256 ** (5 - len(numbers)):
            raise ValueError
    except ValueError:
        raise _refusal(url, "has a host of numbers that is no address") from None
    return IPv4Address(sum(head << 8 * (3 - at) for at, head in enumerate(heads)) + tail)


def _number(part: str) -> int:
    if not _NUMBER.fullmatch(part) or len(part) > 16:
        raise ValueError
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if len(part) > 1 and part[0] == "0" else int(part)


def _ipv6(url: str, host: str) -> IPv6Address:
    try:
        ip = IPv6Address(host[1:-1])
    except ValueError:
        raise _refusal(url, "has brackets without an IPv6 address in them") from None
    if ip.scope_id is not None or "%" in host:
        raise _refusal(url, "has an IPv6 zone in it")
    return ip


def _kind_4(ip: IPv4Address, allow_private: bool) -> str:
    for network, name, opens in _SPECIAL_4:
        if ip in network:
            return "" if opens and allow_private else name
    return ""


def _kind_6(ip: IPv6Address, allow_private: bool) -> str:
    for network, name, opens in _SPECIAL_6:
        if ip in network:
            return "" if opens and allow_private else name
    if ip not in _GLOBAL_6:
        return "a reserved address"
    return "an ISATAP address" if int(ip) >> 32 & 0xFFFFFFFF in _ISATAP else ""
