//! Which machines the instance calls on somebody's behalf.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use holdfast_domain::network::is_public;
use ipnet::IpNet;
use url::Host;

/// The same text whatever is there: who asks learns nothing about our neighbours.
pub(crate) const NOT_ALLOWED: &str = "The address cannot be reached from here";

/// Lets through the internet at large, and what the operator allows beside it.
#[derive(Clone, Debug)]
pub(crate) struct Guard(Arc<[IpNet]>);

impl Guard {
    pub fn new(allowed: &[IpNet]) -> Self {
        Self(allowed.into())
    }

    pub fn allows(&self, address: IpAddr) -> bool {
        is_public(address) || self.0.iter().any(|network| network.contains(&address))
    }

    /// All of them or none: a name that leads both out and in is not to be trusted with either.
    pub fn admit(&self, found: Vec<SocketAddr>) -> Option<Vec<SocketAddr>> {
        let all_allowed = !found.is_empty() && found.iter().all(|address| self.allows(address.ip()));
        all_allowed.then_some(found)
    }

    /// Where a host is. What is called must be one of these: the next answer to the same question may be another.
    pub async fn find(&self, host: Host<&str>, port: u16) -> Option<Vec<SocketAddr>> {
        let found = match host {
            Host::Ipv4(address) => vec![SocketAddr::new(address.into(), port)],
            Host::Ipv6(address) => vec![SocketAddr::new(address.into(), port)],
            Host::Domain(name) => tokio::net::lookup_host((name, port)).await.ok()?.collect(),
        };
        self.admit(found)
    }
}
