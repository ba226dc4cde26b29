"""What counts as one address: an IPv4 address, or the network of an IPv6 one."""

import ipaddress


def network(address: str | None) -> str:
    """Return what counts as one address."""
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
