//! Decides which network addresses the server may connect to on behalf of users. `network.rs` of `app` resolves
//! names and adds the addresses of this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address is publicly routable, as opposed to addresses of this machine, local networks and
/// reserved ranges. For an IPv6 address with an embedded IPv4 address, the latter decides.
pub fn is_public(address: IpAddr) -> bool {
    match to_canonical(address) {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Returns the IPv4 address that is embedded in an IPv6 address, or else the address itself.
pub fn to_canonical(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => embedded_ipv4(v6).map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_unspecified()
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240
        // Virtual machines in Azure reach services of their host at this address.
        || address == Ipv4Addr::new(168, 63, 129, 16);
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Global unicast addresses are in 2000::/3, which also contains reserved ranges.
    first & 0xe000 == 0x2000
        && !(first == 0x2001 && second < 0x0200)
        && !(first == 0x2001 && second == 0x0db8)
        && first != 0x3fff
}

/// Returns the IPv4 address in an IPv4-mapped, IPv4-compatible or IPv4-translated address, in 64:ff9b::/96 or in a 6to4
/// address. In 64:ff9b:1::/48 its position depends on the network, so all of these addresses are treated as not public.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => Some(v4(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(v4(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "64:ff9b:1:a00:0:100:808:808",
            "64:ff9b:0:1::808:808",
            "168.63.129.16",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "fe80::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
            "::ffff:0:7f00:1",
            "5f00::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "172.32.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "2a00::1",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
