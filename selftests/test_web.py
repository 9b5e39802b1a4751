# SPDX-License-Identifier: GPL-2.0
"""Web servers and clients, proxies and TLS, all unaware of pep and without any
common code at both ends except OpenSSL: transferred files are compared by
hash, and each transfer is split.

The servers are in srv, the clients in sub."""

from peptest import pep, service
from peptest.env import amount
from peptest.ktap import families
from peptest.netns import addr, run
from peptest.pep import grows, least
from peptest.service import (fetched, folder, host, listening, path, serve,
                             write)

BYTES = amount(1500000)
HTTP, TLS, H2, PROXY, NEAR, SSLD = range(8080, 8086)
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def certificate():
    """Create a key and a certificate for TLS."""
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
        "/CN=pep", "-keyout", path("key.pem"), "-out", path("cert.pem"))


def web():
    """nginx on three ports: HTTP, TLS with HTTP/2, HTTP/2 without TLS."""
    temporary = "".join(f"{name}_temp_path {path(name)};"
                        for name in TEMPORARY)
    servers = "".join(
        f"server {{ listen {port} {how}; listen [::]:{port} {how} "
        f"ipv6only=on; root {folder()}; }}"
        for port, how in ((HTTP, ""), (TLS, "ssl http2"), (H2, "http2")))
    conf = write("nginx.conf", f"""
daemon off; user root; worker_processes 1;
pid {path("nginx.pid")}; error_log {path("nginx.err")};
events {{ }}
http {{
access_log off; sendfile on; {temporary}
ssl_certificate {path("cert.pem")}; ssl_certificate_key {path("key.pem")};
ssl_protocols TLSv1.3;
{servers}
}}
""")
    serve("srv", "/usr/sbin/nginx", "-p", folder(), "-c", conf, "-e",
          path("nginx.err"))


def proxies():
    """HAProxy in front of nginx; and another next to the client, in front of
    everything."""
    common = """
defaults
 timeout connect 20s
 timeout client 60s
 timeout server 60s
 option splice-auto
"""
    far = write("far.cfg", common + f"""
listen far
 mode http
 bind 0.0.0.0:{PROXY}
 bind [::]:{PROXY} v6only
 server web 127.0.0.1:{HTTP}
""")
    near = write("near.cfg", common + f"""
listen near4
 mode tcp
 bind 127.0.0.1:{NEAR}
 server web {addr("srv", 4)}:{HTTP}
listen near6
 mode tcp
 bind [::1]:{NEAR}
 server web [{addr("srv", 6)}]:{HTTP}
""")
    for ns, conf in ("srv", far), ("sub", near):
        serve(ns, "/usr/sbin/haproxy", "-db", "-f", conf)


def setup():
    """Everything runs before pep is attached."""
    pep.detached()
    service.payload("file", 12345, BYTES)
    certificate()
    web()
    proxies()
    serve("srv", "openssl", "s_server", "-accept", str(SSLD), "-tls1_3",
          "-WWW", "-quiet", "-cert", path("cert.pem"), "-key",
          path("key.pem"))
    listening("srv", HTTP, TLS, H2, PROXY, SSLD)
    listening("sub", NEAR)
    pep.attach()
    pep.follow("handshake")


def teardown():
    """End the servers first."""
    service.services_down()
    pep.teardown()


def url(family, port, name="file", scheme="http"):
    """A URL of the server."""
    return f"{scheme}://{host(family)}:{port}/{name}"


def curl(*words):
    """Run curl in the client's namespace."""
    run("curl", "-sS", "--fail", "-g", *words, ns="sub")


@families("curl from nginx")
def http(family):
    with grows(flow_established=1, flow_closed=least(1)):
        curl("-o", path("got"), url(family, HTTP))
    fetched()


@families("curl from nginx by HTTP/2")
def http2(family):
    with grows(flow_established=1):
        curl("--http2-prior-knowledge", "-o", path("got"), url(family, H2))
    fetched()


def many(count, url_one):
    """Arguments for a number of downloads at once."""
    return [word for number in range(count) for word in
            ("-o", path(f"got{number}"), url_one)]


@families("curl from nginx by HTTP/2 and TLS 1.3, six at once")
def https(family):
    """Streams of one connection."""
    with grows(flow_established=1):
        curl("-k", "-Z", *many(6, url(family, TLS, scheme="https")))
    for number in range(6):
        fetched(f"got{number}")


@families("wget from nginx")
def wget(family):
    with grows(flow_established=1):
        run("wget", "-q", "-O", path("got"), url(family, HTTP), ns="sub")
    fetched()


@families("curl from HAProxy in front of nginx")
def proxy_far(family):
    with grows(flow_established=1):
        curl("-o", path("got"), url(family, PROXY))
    fetched()


@families("curl by HAProxy on the client's side")
def proxy_near(family):
    near = "127.0.0.1" if family == 4 else "[::1]"
    with grows(flow_established=1):
        curl("-o", path("got"), f"http://{near}:{NEAR}/file")
    fetched()


@families("openssl s_client from s_server, TLS 1.3")
def tls(family):
    with grows(flow_established=1):
        run("sh", "-c", f"printf 'GET /file HTTP/1.0\\r\\n\\r\\n' | openssl "
            f"s_client -quiet -tls1_3 -connect {host(family)}:{SSLD} "
            f"> {path('raw')} 2>/dev/null", ns="sub")
    with open(path("raw"), "rb") as file, open(path("got"), "wb") as out:
        out.write(file.read().partition(b"\r\n\r\n")[2])
    fetched()
