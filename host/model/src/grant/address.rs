//! Addresses that no name may lead to without a literal grant (contract G3).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Endpoint;

/// An address that needs a literal grant, and has none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Forbidden {
    asked: String,
    literal: Endpoint,
    address: IpAddr,
    why: &'static str,
}

impl Forbidden {
    pub(super) fn new(
        asked: &Endpoint,
        literal: Endpoint,
        address: IpAddr,
        why: &'static str,
    ) -> Self {
        Self { asked: asked.to_string(), literal, address, why }
    }

    /// The endpoint whose grant would admit the address; see [`grant_line`](super::grant_line).
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.literal
    }
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, address, why, .. } = self;
        write!(
            f,
            "{asked} leads to {address}, {why}, which only a grant of that very address allows"
        )
    }
}

/// What is special about `address`; None when whatever is granted may go there.
pub(super) fn special(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(v4) => special_v4(v4),
        IpAddr::V6(v6) => special_v6(v6),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [169, 254, 169, 254] | [100, 100, 100, 200] | [192, 0, 0, 192] => {
            Some("a cloud metadata address")
        }
        [169, 254, ..] => Some("a link-local address"),
        [0, 0, 0, 0] => Some("the unspecified address"),
        [0, ..] => Some("an address of \"this network\""),
        [255, 255, 255, 255] => Some("the broadcast address"),
        _ if address.is_multicast() => Some("a multicast address"),
        _ => None,
    }
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    if address.is_loopback() {
        return None;
    }
    if address.is_unspecified() {
        return Some("the unspecified address");
    }
    if address.is_multicast() {
        return Some("a multicast address");
    }
    if address.is_unicast_link_local() {
        return Some("a link-local address");
    }
    if address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254) {
        return Some("a cloud metadata address");
    }
    embedded(address).into_iter().flatten().find_map(|(v4, local)| {
        // In a NAT64 prefix of local choice the place of the IPv4 address is unknown, so all
        // places are tried; where it is not, there are mostly zeros, which say nothing.
        if local && v4.octets().first() == Some(&0) { None } else { special_v4(v4) }
    })
}

/// The IPv4 addresses that `address` may stand for, each with whether that is a guess.
fn embedded(address: Ipv6Addr) -> [Option<(Ipv4Addr, bool)>; 4] {
    let [_, _, b0, b1, c0, c1, d0, d1, _, e1, f0, f1, g0, g1, h0, h1] = address.octets();
    let last = Ipv4Addr::new(g0, g1, h0, h1);
    match address.segments() {
        // IPv4-compatible, and NAT64's well-known prefix.
        [0, 0, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            [Some((last, false)), None, None, None]
        }
        // NAT64 of local use: prefixes of 96, 48, 56 and 64 bits (RFC 6052, section 2.2).
        [0x64, 0xff9b, 1, ..] => [
            Some((last, true)),
            Some((Ipv4Addr::new(d0, d1, e1, f0), true)),
            Some((Ipv4Addr::new(d1, e1, f0, f1), true)),
            Some((Ipv4Addr::new(e1, f0, f1, g0), true)),
        ],
        // 6to4.
        [0x2002, ..] => [Some((Ipv4Addr::new(b0, b1, c0, c1), false)), None, None, None],
        _ => [None; 4],
    }
}
