//! Which addresses of the network the instance may call on somebody's behalf.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether it is an address of the internet at large, not of this machine, of its neighbours or of no machine at all.
/// An IPv6 address that carries an IPv4 one is what it carries.
pub fn is_public(address: IpAddr) -> bool {
    match effective(address) {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Returns the IPv4 address that an IPv6 address carries, or else the address itself.
pub fn effective(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => carried(v6).map_or(address, IpAddr::V4),
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
        // Where the machines of a large cloud find its host.
        || address == Ipv4Addr::new(168, 63, 129, 16);
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // What is given out to networks begins with 001; parts of that are set aside.
    first & 0xe000 == 0x2000
        && !(first == 0x2001 && second < 0x0200)
        && !(first == 0x2001 && second == 0x0db8)
        && first != 0x3fff
}

/// Mapped, compatible, translated (64:ff9b::/96), 6to4. Where 64:ff9b:1::/48 carries one is for each network to say: none of
/// these is public.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match s {
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
    fn tells_the_internet_from_the_neighbourhood() {
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
