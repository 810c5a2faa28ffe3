"""URLs are read in one way only, and every address that is not public is known as such."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.errors import IngestError
from disputatio.store.ingesting.addresses import (
    check_ip,
    check_name,
    display_url,
    is_private,
    read_address,
    read_redirect,
    same_site,
    site,
)

LOOPBACK = (
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://0x7F000001/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.0.0.1./",
    "http://017700000001/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://127.0x0.0.01/",
    "http://①②⑦.⓪.⓪.①/",
    "http://\uff11\uff12\uff17\uff0e\uff10\uff0e\uff10\uff0e\uff11/",
    "http://127\u30020\u30020\u30021/",
    "http://1२7.0.0.1/",
    "http://0X7F.1/",
)


@pytest.mark.parametrize("url", LOOPBACK)
def test_odd_spellings_of_loopback_are_loopback_or_refused(url: str) -> None:
    try:
        address = read_address(url)
    except IngestError:
        assert "२" in url  # a digit of another script, which no resolver takes for one
        return
    assert address.literal == IPv4Address("127.0.0.1")
    assert address.host == "127.0.0.1"
    assert "loopback" in check_ip(address.host)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://x.example/", "not an http"),
        ("file:///etc/passwd", "not an http"),
        ("gopher://x.example/", "not an http"),
        ("javascript:alert(1)", "not an http"),
        ("//x.example/", "not an http"),
        ("x.example", "not an http"),
        ("", "not an http"),
        ("http:x.example", "names no host"),
        ("http:/x.example", "names no host"),
        ("http:///x.example", "names no host"),
        ("http:////x.example", "names no host"),
        ("http://?x", "names no host"),
        ("http://:80/", "names no host"),
        ("http://./", "no name of one"),
        ("http://good.example@127.0.0.1/", "user name"),
        ("http://me:word@x.example/", "user name"),
        ("http://@x.example/", "user name"),
        ("http://x.example\\@127.0.0.1/", "backslash"),
        ("http:\\\\127.0.0.1\\", "backslash"),
        ("http://x.example/a\tb", "blank"),
        ("http://x.exa\nmple/", "blank"),
        ("ht\ntp://x.example/", "blank"),
        (" http://x.example/", "blank"),
        ("http://x.example/\x00", "blank"),
        ("http://x.example/\u202egpj", "invisible"),
        ("http://x\u200b.example/", "invisible"),
        ("http://x\u00a0.example/", "blank"),
        ("http://%31%32%37.0.0.1/", "percent"),
        ("http://x.example%2f@y/", "user name"),
        ("http://x.example:22/", "port 22"),
        ("http://x.example:0/", "port 0"),
        ("http://x.example:99999/", "port 99999"),
        ("http://x.example:8a/", "cannot be told apart"),
        ("http://x.example:80:80/", "cannot be told apart"),
        ("http://x.example:٨٠/", "cannot be told apart"),
        ("http://[::1%25eth0]/", "zone"),
        ("http://[fe80::1%eth0]/", "zone"),
        ("http://[::1/", "cannot be told apart"),
        ("http://[127.0.0.1]/", "brackets"),
        ("http://[v1.x]/", "brackets"),
        ("http://[::1]x/", "cannot be told apart"),
        ("http://::1/", "cannot be told apart"),
        ("http://1.2.3.4.5/", "numbers"),
        ("http://256.0.0.1/", "numbers"),
        ("http://1.2.3.256/", "numbers"),
        ("http://4294967296/", "numbers"),
        ("http://09.0.0.1/", "numbers"),
        ("http://1..2/", "no name of one"),
        ("http://x.1/", "numbers"),
        ("http://x..example/", "no name of one"),
        ("http://x.example../", "no name of one"),
        ("http://-x.example/", "no name of one"),
        ("http://x,y.example/", "no name of one"),
        ("http://a\u2100b.example/", "no name of one"),  # the sign for a/c
        ("http://x\uff0fy.example/", "no name of one"),
        ("http://stra\u00dfe.example/", "two standards"),
        ("http://" + "a" * 64 + ".example/", "no name of one"),
        ("http://x.example/" + "a" * 9000, "longer than"),
    ],
)
def test_a_url_that_can_be_read_in_two_ways_is_refused(url: str, words: str) -> None:
    with pytest.raises(IngestError) as caught:
        read_address(url)
    assert words in caught.value.reason


def test_a_good_url_is_written_in_one_way() -> None:
    address = read_address("HTTPS://WWW.Example.COM.:443/Ä b?q=ü#part".replace(" ", "+"))
    assert address.url == "https://www.example.com/%C3%84+b?q=%C3%BC"
    assert read_address("http://bücher.example").url == "http://xn--bcher-kva.example/"
    assert read_address("http://x.example?a").url == "http://x.example/?a"
    assert read_address("http://x.example:8080/", ports=[8080]).authority == "x.example:8080"
    assert read_address("http://[2606:4700::1111]/").authority == "[2606:4700::1111]"


NOT_PUBLIC = (
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
    "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192",
    "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1",
    "2001::1", "2001:0:7f00:1::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::",
    "2002:a00:1::1", "3fff::1", "5f00::1", "fc00::1", "fd00::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1",
    "fec0::1",
    "ff02::1", "4000::1", "2606:4700::5efe:127.0.0.1", "2606:4700::200:5efe:a00:1", "fe80::1%eth0", "x",
    "127.1", "2130706433", "",
)  # fmt: skip


@pytest.mark.parametrize("ip", NOT_PUBLIC)
def test_an_address_that_is_not_public_is_refused(ip: str) -> None:
    assert check_ip(ip)


@pytest.mark.parametrize(
    "ip",
    ["93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"],
)
def test_a_public_address_is_not_refused(ip: str) -> None:
    assert check_ip(ip) == ""
    assert not is_private(ip)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**128 - 1))
def test_nothing_is_public_that_python_knows_as_special(four: int, six: int) -> None:
    for number, build in ((four, IPv4Address), (six, ip_address)):
        ip = build(number)
        if ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip.is_reserved:
            assert check_ip(str(ip))


@given(st.integers(0, 2**32 - 1))
def test_ipv4_is_judged_alike_in_all_its_spellings(number: int) -> None:
    plain = str(IPv4Address(number))
    for host in (plain, str(number), hex(number), f"0{number:o}", f"{number >> 24}.{number & 0xFFFFFF}"):
        assert read_address(f"http://{host}/").host == plain
    assert bool(check_ip(plain)) == bool(check_ip(f"::ffff:{plain}")) == bool(check_ip(f"64:ff9b::{plain}"))


@pytest.mark.parametrize("ip", ["127.0.0.1", "10.1.1.1", "192.168.0.1", "::1", "fd12::1", "100.64.0.1"])
def test_private_addresses_open_on_request(ip: str) -> None:
    assert check_ip(ip, allow_private=True) == ""
    assert is_private(ip)


@pytest.mark.parametrize(
    "ip", ["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "fe80::1", "0.0.0.0", "::", "224.0.0.1"]
)
def test_metadata_and_link_local_addresses_never_open(ip: str) -> None:
    assert check_ip(ip, allow_private=True)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST.", "a.localhost", "printer.local", "intranet", "metadata.google.internal"],
)
def test_names_of_the_local_network_are_refused(host: str) -> None:
    with pytest.raises(IngestError):
        check_name(read_address(f"http://{host}/"))


def test_a_redirect_is_read_as_strictly_as_a_first_url() -> None:
    base = read_address("https://x.example/a/b?c")
    assert read_redirect(base, "../d").url == "https://x.example/d"
    assert read_redirect(base, "?e").url == "https://x.example/a/b?e"
    assert read_redirect(base, "//y.example").url == "https://y.example/"
    for location in (
        "",
        "///127.0.0.1/",
        "http://x.example/",  # from https
        "https:///x",
        "https:127.0.0.1",
        "\\\\127.0.0.1\\",
        "/a\r\nHost: y",
        "file:///etc/passwd",
        "data:text/html,x",
        "https://u@y.example/",
        "https://y.example:6379/",
    ):
        with pytest.raises(IngestError):
            read_redirect(base, location)


def test_sites_are_told_by_their_registrable_domain() -> None:
    assert same_site("https://news.bbc.co.uk/1", "http://www.bbc.co.uk/")
    assert not same_site("https://a.github.io/", "https://b.github.io/")
    assert not same_site("https://a.example/", "https://b.example/")
    assert not same_site("", "")
    assert not same_site("https://10.0.0.1/", "https://10.0.0.2/")
    assert site("https://www.census.gov./x") == "census.gov"


def test_a_message_shows_no_credentials_and_no_control_characters() -> None:
    text = display_url("http://me:secret@x.example/\x1b[31m\u202e\n" + "a" * 1000)
    assert "secret" not in text
    assert text.isprintable()
    assert len(text) < 400
