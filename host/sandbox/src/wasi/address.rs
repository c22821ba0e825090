//! From WASI's addresses to the standard library's, and back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use super::bindings::wasi::sockets::network::{
    IpAddress, IpSocketAddress, Ipv4Address, Ipv4SocketAddress, Ipv6Address, Ipv6SocketAddress,
};

impl From<IpSocketAddress> for SocketAddr {
    fn from(address: IpSocketAddress) -> Self {
        match address {
            IpSocketAddress::Ipv4(Ipv4SocketAddress { address: (a, b, c, d), port }) => {
                SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port).into()
            }
            IpSocketAddress::Ipv6(v6) => {
                let (a, b, c, d, e, f, g, h) = v6.address;
                let ip = Ipv6Addr::new(a, b, c, d, e, f, g, h);
                SocketAddrV6::new(ip, v6.port, v6.flow_info, v6.scope_id).into()
            }
        }
    }
}

impl From<SocketAddr> for IpSocketAddress {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => {
                Self::Ipv4(Ipv4SocketAddress { port: v4.port(), address: from_v4(*v4.ip()) })
            }
            SocketAddr::V6(v6) => Self::Ipv6(Ipv6SocketAddress {
                port: v6.port(),
                flow_info: v6.flowinfo(),
                address: from_v6(*v6.ip()),
                scope_id: v6.scope_id(),
            }),
        }
    }
}

impl From<IpAddr> for IpAddress {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::Ipv4(from_v4(v4)),
            IpAddr::V6(v6) => Self::Ipv6(from_v6(v6)),
        }
    }
}

fn from_v4(address: Ipv4Addr) -> Ipv4Address {
    address.octets().into()
}

fn from_v6(address: Ipv6Addr) -> Ipv6Address {
    address.segments().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_way_there_and_back() {
        for text in ["127.0.0.1:80", "[2001:db8:1:2:3:4:5:6]:443", "[::1]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(SocketAddr::from(IpSocketAddress::from(address)), address);
        }
        let IpAddress::Ipv4(v4) = IpAddress::from(IpAddr::from([1, 2, 3, 4])) else { panic!() };
        assert_eq!(v4, (1, 2, 3, 4));
    }
}
